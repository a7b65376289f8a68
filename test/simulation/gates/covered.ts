import { type Profiler, Session } from "node:inspector";

/** A place in the code. `take` reports places by their index. */
export interface CodeSpot {
  url: string;
  offset: number;
}

/**
 * Begins to count which places of this thread's code run. Code that was loaded before is not counted.
 *
 * @returns a function that gives the indexes of the places that have run since its last call
 */
export function startCoverage(spots: readonly CodeSpot[]): () => number[] {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return () => {
    let scripts: Profiler.ScriptCoverage[] = [];
    // The inspector session is in this thread, so it calls back before `post` returns.
    session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error !== null) throw error;
      scripts = result;
    });
    const byUrl = new Map(scripts.map(({ url, functions }) => [url, functions.flatMap(({ ranges }) => ranges)]));
    return spots.flatMap(({ url, offset }, index) => (hasRun(byUrl.get(url) ?? [], offset) ? [index] : []));
  };
}

/** Whether a place has run: its count is that of the smallest range around it. */
export function hasRun(ranges: readonly Profiler.CoverageRange[], offset: number): boolean {
  const sizeOfRange = ({ startOffset, endOffset }: Profiler.CoverageRange) => endOffset - startOffset;
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset);
  const [smallest] = around.reverse().sort((a, b) => sizeOfRange(a) - sizeOfRange(b));
  return smallest !== undefined && smallest.count > 0;
}
