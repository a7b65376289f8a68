import { UsageError } from "../../../src/cli/known-options.ts";
import { findDefects } from "./find-defects.ts";
import { readCommand, USAGE } from "./options.ts";
import type { Parts } from "./parts.ts";
import { BrokenRun, Stopped } from "./seed-thread.ts";
import { trySeeds } from "./try-seeds.ts";
import { WrittenFile } from "./written-file.ts";

const EXIT = { nothing: 0, found: 1, usage: 2 } as const;
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/** @returns the exit code */
export async function main(args: string[], parts: Parts): Promise<number> {
  // `npm run simulate | head` closes the pipe early. The run must go on, so that the exit code still gives the result.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  const stop = new AbortController();
  let interrupted = 0;
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.once(signal, () => {
      interrupted = exitCode;
      stop.abort();
    });
  }
  try {
    const found = await simulate(args, parts, stop.signal);
    return found ? EXIT.found : interrupted || EXIT.nothing;
  } catch (error) {
    if (error instanceof Stopped) return EXIT.found;
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\nnpm run simulate -- --help tells how.`);
      return EXIT.usage;
    }
    console.error(error instanceof BrokenRun ? error.message : error);
    return EXIT.found;
  }
}

async function simulate(args: string[], parts: Parts, stop: AbortSignal): Promise<boolean> {
  const asked = readCommand(
    args,
    parts.defects.map(({ name }) => name),
  );
  if (asked === "help") {
    console.log(USAGE);
    return false;
  }
  if (!("fromBase64" in Uint8Array)) {
    throw new UsageError('This node needs the option --js-base-64, which "npm run simulate" gives it.');
  }
  const trace = WrittenFile.open("trace", asked.traceFile);
  const report = WrittenFile.open("report", asked.reportFile);
  try {
    return asked.defects === undefined
      ? await trySeeds(asked, parts, { trace, report }, stop)
      : await findDefects(asked, parts, trace, stop);
  } finally {
    trace?.close();
    report?.close();
  }
}
