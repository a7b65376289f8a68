/** `npm run demo`: the main job on this machine, every answer and what it left in the store checked against the contract. */
import { DemoReport } from "./demo-report.ts";
import { runDemo } from "./demo-script.ts";
import { DemoWorld } from "./demo-world.ts";
import { startThrowawayWorker, type ThrowawayWorker } from "./throwaway-worker.ts";

// Leaving is enough: the runtime goes with this process, and so does its folder.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

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
