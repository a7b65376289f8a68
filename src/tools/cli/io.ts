import { readFileSync } from "node:fs";
import { handOverToWrangler, PROJECT_ROOT, runWrangler } from "./run-wrangler.ts";

/** What a command uses from outside. A test passes its own, and runs the command inside the test's process. */
export interface Io {
  out: (line: string) => void;
  err: (line: string) => void;
  env: Readonly<Record<string, string | undefined>>;
  /** Reads all bytes of standard input. */
  stdin: () => Uint8Array;
  /** The folder of package.json and wrangler.toml. */
  root: string;
  /** Runs wrangler in `root`, with `env`, and returns its output. */
  wrangler: typeof runWrangler;
  /** Gives the terminal to wrangler until it ends. @returns wrangler's exit code, as a shell gives it */
  handOver: typeof handOverToWrangler;
}

/** The {@link Io} of a command that runs as a process. */
export const PROCESS_IO: Io = {
  out: (line) => console.log(line),
  err: (line) => console.error(line),
  env: process.env,
  stdin: () => readFileSync(0),
  root: PROJECT_ROOT,
  wrangler: runWrangler,
  handOver: handOverToWrangler,
};
