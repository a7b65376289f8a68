/** `npm run demo`: runs the main calls on this machine. Checks each answer and the stored rows against the contract. */
import { DemoReport } from "./demo-report.ts";
import { runDemo } from "./demo-script.ts";
import { DemoWorld } from "./demo-world.ts";
import { endWithNpm } from "./end-with-npm.ts";
import { readOptions, UsageError } from "./known-options.ts";
import { startThrowawayWorker, type ThrowawayWorker } from "./throwaway-worker.ts";

const USAGE = `npm run demo

  --help, -h   this

Exit code: 0 all is as the contract says, 1 something is not, 2 called wrongly.`;

try {
  const { help } = readOptions("npm run demo", process.argv.slice(2), { help: { type: "boolean", short: "h" } }).values;
  if (help === true) {
    console.log(USAGE);
    process.exit(0);
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exit(2);
}

// `npm run demo | head` closes the pipe early. Without this handler the demo would crash, and its exit code would tell nothing.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

// exit() is enough to clean up: the runtime ends with this process, and the exit handler removes its folder.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("SIGHUP", () => process.exit(129));
endWithNpm();

const report = new DemoReport();
let worker: ThrowawayWorker | undefined;
try {
  console.log("Starting the Worker with a database of its own …");
  worker = await startThrowawayWorker();
  console.log(`It serves ${worker.url}.`);
  await runDemo(new DemoWorld(worker, report), report);
} catch (error) {
  report.failed++;
  console.error(`\nThe demo broke off: ${(error as Error).message}`);
  console.error((worker?.logs() ?? []).slice(-10).join("\n"));
} finally {
  await worker?.close();
}
report.summary();
process.exitCode = report.failed === 0 ? 0 : 1;
