import { type Io, PROCESS_IO } from "./io.ts";
import { UsageError } from "./known-options.ts";

/** @returns an exit code */
export type Main = (args: string[], io: Io) => Promise<number>;

/**
 * Makes a command of a function, and runs it when its file is the program that node runs. An error is printed and becomes the exit code
 * 1, or 2 when the command was called wrongly.
 *
 * @param meta `import.meta` of the command's file. Its consts stand before this call, which may already run the command
 * @param hint what somebody reads below the message who called it wrongly
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
  // For a command that never answers, because nothing is left that it could wait for.
  process.exitCode = 1;
  process.exitCode = await main(process.argv.slice(2), PROCESS_IO);
}
