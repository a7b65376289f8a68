/** One thread of `npm run simulate`: it runs one seed after another and sends back each result. */
import { inspect } from "node:util";
import { parentPort, workerData } from "node:worker_threads";
import type { Code } from "../bundle.ts";
import { type CodeSpot, startCoverage } from "../gates/covered.ts";
import { ProgramImage } from "../machine/program.ts";
import type { run as Run, RunResult } from "../run.ts";

export interface WorkerData {
  /** The path of the module that exports `run`. */
  runModule: string;
  /** The places of the code whose runs are counted; undefined counts none, which is faster. */
  spots?: readonly CodeSpot[] | undefined;
}

export interface Job {
  /** Left out when it is the code of the previous job. */
  code?: Code;
  seed: number;
  steps: number;
  isTraced: boolean;
}

/** `broken` means that the simulation itself threw. */
export type Message = { lines: string[] } | { result: RunResult } | { broken: string };

/** Lines are sent in batches, because one message for each line would take longer than the run. */
const LINES_A_MESSAGE = 1000;

const { runModule, spots } = workerData as WorkerData;
const spotsRun = spots && startCoverage(spots);
const { run } = (await import(runModule)) as { run: typeof Run };
let image: ProgramImage;

const send = (message: Message) => parentPort?.postMessage(message);

parentPort?.on("message", async ({ code, seed, steps, isTraced }: Job) => {
  if (code !== undefined) image = new ProgramImage(code);
  let lines: string[] = [];
  const trace = (line: string) => {
    if (lines.push(line) < LINES_A_MESSAGE) return;
    send({ lines });
    lines = [];
  };
  try {
    const result = await run(image, { seed, steps, trace: isTraced ? trace : undefined });
    send({ lines });
    send({ result: { ...result, ...(spotsRun !== undefined && { spots: spotsRun() }) } });
  } catch (error) {
    send({ lines });
    send({ broken: inspect(error) });
  }
});
