import type { RunOptions, RunResult } from "../run.ts";
import { SeedThread, Stopped } from "./seed-thread.ts";
import type { WorkerData } from "./seed-worker.ts";

interface Wanted {
  seeds: Iterable<number>;
  steps: number;
  threads: number;
  trace?: RunOptions["trace"];
  /** Called before each seed is started. */
  mayStart: () => boolean;
  /** Ends the run at once: seeds in flight are dropped. */
  stop: AbortSignal;
  /** Called when a seed has ended, in any order. @param place the index of the seed */
  onResult: (result: RunResult, place: number) => void;
}

/**
 * Starts the seeds in their order, as many at once as there are threads, and waits for all started ones.
 *
 * @throws BrokenRun when the simulation throws
 */
export async function runSeeds(program: WorkerData, wanted: Wanted): Promise<void> {
  const { seeds, steps, trace, stop, mayStart, onResult } = wanted;
  const next = seeds[Symbol.iterator]();
  let places = 0;
  let failed = false;
  const lane = async () => {
    // The thread is started with its first seed, because there may be fewer seeds than threads.
    let thread: SeedThread | undefined;
    try {
      while (!failed && mayStart()) {
        const { value: seed, done } = next.next();
        if (done === true) break;
        const place = places++;
        thread ??= new SeedThread(program, stop);
        onResult(await thread.run({ seed, steps, trace }), place);
      }
    } catch (error) {
      if (error instanceof Stopped) return;
      failed = true;
      throw error;
    } finally {
      await thread?.close();
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: wanted.threads }, lane));
  const broken = lanes.find((each) => each.status === "rejected");
  if (broken !== undefined) throw broken.reason;
}
