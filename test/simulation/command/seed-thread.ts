import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { RunOptions, RunResult } from "../run.ts";
import type { Job, Message, WorkerData } from "./seed-worker.ts";

/** The simulation itself threw, so the run proves nothing about the promises. */
export class BrokenRun extends Error {
  override readonly name = "BrokenRun";
}

/** The thread was closed before the seed had ended. */
export class Stopped extends Error {
  override readonly name = "Stopped";
}

/** A thread that runs seeds, one at a time. It loads the code only once. */
export class SeedThread {
  readonly #worker: Worker;
  readonly #stop: AbortSignal;
  readonly #onStop = () => void this.close();
  #closed = false;
  /** Why the thread ended by itself, during a seed or between two. */
  #failure: string | undefined;
  #running: { receive: (message: Message) => void; fail: () => void } | undefined;

  /** @param stop closes the thread at once */
  constructor(program: WorkerData, stop: AbortSignal) {
    this.#stop = stop;
    this.#worker = new Worker(join(import.meta.dirname, "seed-worker.ts"), { workerData: program });
    this.#worker.on("message", (message: Message) => this.#running?.receive(message));
    this.#worker.on("error", (error: unknown) => {
      this.#failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    this.#worker.on("exit", () => {
      this.#failure ??= "its thread ended";
      this.#running?.fail();
    });
    stop.addEventListener("abort", this.#onStop);
    if (stop.aborted) this.#onStop();
  }

  /**
   * @throws BrokenRun when the simulation throws
   * @throws Stopped when the thread is closed
   */
  run({ seed, steps, trace }: RunOptions): Promise<RunResult> {
    return new Promise<RunResult>((resolve, reject) => {
      const broken = (how: string) => new BrokenRun(`The simulation itself broke at seed ${seed}: ${how}`);
      const fail = () => reject(this.#closed ? new Stopped() : broken(this.#failure ?? ""));
      const receive = (message: Message) => {
        if ("lines" in message) for (const line of message.lines) trace?.(line);
        else if ("result" in message) resolve(message.result);
        else reject(broken(message.broken));
      };
      if (this.#failure !== undefined) return fail();
      this.#running = { receive, fail };
      this.#worker.postMessage({ seed, steps, traced: trace !== undefined } satisfies Job);
    });
  }

  /** A seed in flight is dropped. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stop.removeEventListener("abort", this.#onStop);
    await this.#worker.terminate();
  }
}
