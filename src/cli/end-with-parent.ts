/**
 * Loaded into wrangler by `npm start`: ends it, and workerd with it, when `npm start` was killed and could not do that itself. Tells
 * `npm start` which processes wrangler runs, because a wrangler that is killed leaves them behind.
 */
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";

process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();

subscribe("child_process", (message) => {
  const { process: child } = message as { process: ChildProcess };
  const tell = (event: string) => process.connected && process.send?.(JSON.stringify({ event, pid: child.pid }));
  child.once("spawn", () => tell("CHILD_STARTED"));
  child.once("exit", () => tell("CHILD_ENDED"));
});
