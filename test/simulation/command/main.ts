import { openSync, writeSync } from "node:fs";
import { UsageError } from "../../../src/tools/cli/known-options.ts";
import type { bundle } from "../bundle.ts";
import type { Defect } from "../planted-defect.ts";
import { findDefects } from "./find-defects.ts";
import { type Command, readCommand, USAGE } from "./options.ts";
import { BrokenRun, StoppedRun } from "./threads.ts";
import { trySeeds } from "./try-seeds.ts";

/** The parts that the command runs. Its own tests replace them with small fakes. */
export interface CommandParts {
  /** The path of the module that exports `run`. */
  runModule: string;
  bundle: typeof bundle;
  defects: readonly Defect[];
}

/** Writes a line into a file that is named on the command line. */
export type Write = (line: string) => void;

export interface CommandRun extends Command {
  trace: Write | undefined;
  /** Stops the command at once. Running seeds are dropped. */
  stop: AbortSignal;
}

const EXIT = { nothing: 0, found: 1, usage: 2 } as const;
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/** @returns the exit code */
export async function main(args: string[], parts: CommandParts): Promise<number> {
  // `npm run simulate | head` closes the pipe early. The run must go on, so that the exit code still gives the result.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  const stop = new AbortController();
  let signalExit = 0;
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.once(signal, () => {
      signalExit = exitCode;
      stop.abort();
    });
  }
  try {
    const defectNames = parts.defects.map(({ name }) => name);
    const command = readCommand(args, defectNames);
    if (command === "help") {
      console.log(USAGE);
      return EXIT.nothing;
    }
    if (!("fromBase64" in Uint8Array)) {
      throw new UsageError('This node needs the option --js-base-64, which "npm run simulate" gives it.');
    }
    const commandRun = { ...command, trace: openFile("trace", command.traceFile), stop: stop.signal };
    const report = openFile("report", command.reportFile);
    const isFound = await (commandRun.defects === undefined
      ? trySeeds(commandRun, parts, report)
      : findDefects(commandRun, parts));
    return isFound ? EXIT.found : signalExit || EXIT.nothing;
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\nnpm run simulate -- --help tells how.`);
      return EXIT.usage;
    }
    if (!(error instanceof StoppedRun)) console.error(error instanceof BrokenRun ? error.message : error);
    return EXIT.found;
  }
}

/** @throws UsageError when the file cannot be written */
function openFile(what: string, name: string | undefined): Write | undefined {
  if (name === undefined) return undefined;
  try {
    const file = openSync(name, "w");
    return (line) => void writeSync(file, `${line}\n`);
  } catch (error) {
    throw new UsageError(`The ${what} could not be written: ${(error as Error).message}`);
  }
}
