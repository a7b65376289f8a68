import { join } from "node:path";
import { type CliResult, run } from "./run-cli.ts";

const FOLDER = join(import.meta.dirname, "../simulation");

/** The arguments of node for the command: its options, then the file. @param fake whether a fake replaces the simulation */
export const simulateArguments = (fake = false): string[] => [
  "--js-base-64",
  "--disable-warning=ExperimentalWarning",
  join(FOLDER, fake ? "command/fake-simulate.ts" : "simulate.ts"),
];

/** `npm run simulate`, as a process of its own. */
export const runSimulate = (...args: string[]): Promise<CliResult> =>
  run(process.execPath, [...simulateArguments(), ...args]);

/** The same command, with test/simulation/command/fake-run.ts as its simulation. */
export const runFakeSimulate = (...args: string[]): Promise<CliResult> =>
  run(process.execPath, [...simulateArguments(true), ...args]);
