/** One thread of `npm run simulate`: it runs one seed after another and sends back each result. */
import { parentPort, workerData } from "node:worker_threads";
import type { Code } from "../bundle.ts";
import { Covered, type Spot } from "../gates/covered.ts";
import { ProgramImage } from "../machine/program.ts";
import type { run as Run, RunResult } from "../run.ts";

export interface WorkerData {
  code: Code;
  /** The path of the module that exports `run`. */
  runModule: string;
  /** The places of the code to watch; undefined watches none, which is faster. */
  spots?: readonly Spot[];
}

export interface Job {
  seed: number;
  steps: number;
  /** Whether the lines of the trace are sent. */
  traced: boolean;
}

/** `broken`: the simulation itself threw. */
export type Message = { lines: string[] } | { result: RunResult } | { broken: string };

/** Lines are sent in batches, because a message per line would take longer than the run. */
const LINES_A_MESSAGE = 1000;

const { code, runModule, spots } = workerData as WorkerData;
const covered = spots && new Covered(spots);
const { run } = (await import(runModule)) as { run: typeof Run };
const image = new ProgramImage(code);

const send = (message: Message) => parentPort?.postMessage(message);

parentPort?.on("message", async ({ seed, steps, traced }: Job) => {
  let lines: string[] = [];
  const flush = () => {
    if (lines.length > 0) send({ lines });
    lines = [];
  };
  const trace = (line: string) => {
    lines.push(line);
    if (lines.length === LINES_A_MESSAGE) flush();
  };
  try {
    const result = await run(image, { seed, steps, trace: traced ? trace : undefined });
    flush();
    send({ result: covered === undefined ? result : { ...result, spots: covered.take() } });
  } catch (error) {
    flush();
    send({ broken: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
