/**
 * `npm start` loads this module into wrangler. It ends wrangler and workerd when `npm start` was killed. It also reports the processes
 * that wrangler runs to `npm start`, which must end them when wrangler is killed.
 */
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";

process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();

subscribe("child_process", (message) => {
  const { process: child } = message as { process: ChildProcess };
  const sendEvent = (event: string) => process.connected && process.send?.(JSON.stringify({ event, pid: child.pid }));
  child.once("spawn", () => sendEvent("CHILD_STARTED"));
  child.once("exit", () => sendEvent("CHILD_ENDED"));
});
