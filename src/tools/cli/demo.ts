/** `npm run demo`: runs the main calls on this machine, and checks each answer and the stored rows against the contract. */
import { command } from "./command.ts";
import { DemoReport } from "./demo-report.ts";
import { runDemo } from "./demo-script.ts";
import { DemoWorld } from "./demo-world.ts";
import { endWithNpm } from "./end-with-npm.ts";
import type { Io } from "./io.ts";
import { readOptions } from "./known-options.ts";
import type { ThrowawayWorker } from "./throwaway-worker.ts";

const USAGE = `npm run demo

  --help, -h   this

Exit code: 0 all is as the contract says, 1 something is not, 2 called wrongly.`;

export const main = command(import.meta, demo, "npm run demo -- --help tells more.");

async function demo(args: string[], io: Io): Promise<number> {
  const options = { help: { type: "boolean", short: "h" } } as const;
  if (readOptions("npm run demo", args, options, { env: io.env }).values.help === true) {
    io.out(USAGE);
    return 0;
  }
  // `npm run demo | head` closes the pipe early. Without this handler the demo would crash, and its exit code would be wrong.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });

  // exit() is enough to clean up: the runtime ends with this process, and the exit handler removes its folder.
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  process.once("SIGHUP", () => process.exit(129));
  endWithNpm();

  const report = new DemoReport(io.out);
  let worker: ThrowawayWorker | undefined;
  try {
    io.out("Starting the Worker with a database of its own …");
    // wrangler takes a second to load. It is loaded here, so that --help and a wrong option get an answer at once.
    const { startThrowawayWorker } = await import("./throwaway-worker.ts");
    worker = await startThrowawayWorker();
    io.out(`It serves ${worker.url}.`);
    await runDemo(new DemoWorld(worker, report), report);
  } catch (error) {
    report.failed++;
    io.err(`\nThe demo broke off: ${(error as Error).message}`);
    io.err((worker?.logs() ?? []).slice(-10).join("\n"));
  } finally {
    await worker?.close();
  }
  report.summary();
  return report.failed === 0 ? 0 : 1;
}
