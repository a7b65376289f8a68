import { type Io, PROCESS_IO } from "./io.ts";
import { UsageError } from "./known-options.ts";

/** @returns an exit code */
export type Main = (args: string[], io: Io) => Promise<number>;

/**
 * Turns a function into a command. When node was started with this file, the command runs at once. An error is printed: the exit code
 * is 2 when the command was called wrongly, and 1 otherwise.
 *
 * @param meta `import.meta` of the command's file. Call this below the consts that the command uses, because it may run at once
 * @param hint the line below the message about a wrong call
 */
export function command(meta: ImportMeta, run: Main, hint: string): Main {
  const main: Main = async (args, io) => {
    try {
      return await run(args, io);
    } catch (error) {
      const { message } = error as Error;
      const calledWrongly = error instanceof UsageError;
      io.err(calledWrongly ? `${message}\n\n${hint}` : message);
      return calledWrongly ? 2 : 1;
    }
  };
  if (meta.main) void runAsProgram(main);
  return main;
}

async function runAsProgram(main: Main): Promise<void> {
  // This is the exit code when the promise of the command never ends: node exits when nothing is left to wait for.
  process.exitCode = 1;
  process.exitCode = await main(process.argv.slice(2), PROCESS_IO);
}
