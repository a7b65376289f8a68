import { readFileSync } from "node:fs";
import { handOverToWrangler, PROJECT_ROOT, runWrangler } from "./run-wrangler.ts";

/** What a command uses of its surroundings. A test gives it others, and runs the command inside the process of the test. */
export interface Io {
  /** Prints a line on standard output. */
  out: (line: string) => void;
  /** Prints a line on standard error. */
  err: (line: string) => void;
  env: Readonly<Record<string, string | undefined>>;
  /** The whole of standard input. */
  stdin: () => Uint8Array;
  /** The folder of package.json and wrangler.toml. */
  root: string;
  /** Runs wrangler in `root`, with `env`, and returns its output. */
  wrangler: typeof runWrangler;
  /** Gives the terminal to wrangler until it ends. @returns its exit code, as in a shell */
  handOver: typeof handOverToWrangler;
}

/** The outside of a command that is a process. */
export const PROCESS_IO: Io = {
  out: (line) => console.log(line),
  err: (line) => console.error(line),
  env: process.env,
  stdin: () => readFileSync(0),
  root: PROJECT_ROOT,
  wrangler: runWrangler,
  handOver: handOverToWrangler,
};
