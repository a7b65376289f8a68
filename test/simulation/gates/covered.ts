import { type Profiler, Session } from "node:inspector";

/** A place in the code. `take` reports places by their index. */
export interface Spot {
  url: string;
  offset: number;
}

/**
 * Counts which places of this thread's code run. It must be made before the code is loaded, otherwise V8 does not
 * count.
 */
export class Covered {
  readonly #session = new Session();
  readonly #spots: readonly Spot[];

  constructor(spots: readonly Spot[]) {
    this.#spots = spots;
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** The indexes of the places that have run since the last call. */
  take(): number[] {
    let scripts: Profiler.ScriptCoverage[] = [];
    // A session of its own thread calls back before `post` returns.
    this.#session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error !== null) throw error;
      scripts = result;
    });
    const byUrl = new Map(scripts.map(({ url, functions }) => [url, functions.flatMap(({ ranges }) => ranges)]));
    return this.#spots.flatMap(({ url, offset }, index) => (hasRun(byUrl.get(url) ?? [], offset) ? [index] : []));
  }
}

/** The smallest range around a place has the count of that place. */
export function hasRun(ranges: readonly Profiler.CoverageRange[], offset: number): boolean {
  let smallest: Profiler.CoverageRange | undefined;
  for (const range of ranges) {
    if (range.startOffset > offset || range.endOffset <= offset) continue;
    const size = range.endOffset - range.startOffset;
    if (smallest === undefined || size <= smallest.endOffset - smallest.startOffset) smallest = range;
  }
  return smallest !== undefined && smallest.count > 0;
}
