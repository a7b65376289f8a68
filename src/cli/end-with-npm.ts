import { relative } from "node:path";
import { PROJECT_ROOT } from "./run-wrangler.ts";

const LOOK_EVERY_MS = 500;

/**
 * Ends this process by SIGTERM once the npm that runs it has ended. npm passes SIGTERM and SIGINT on, which reach this process because
 * its script begins with `exec`; a hang-up and a kill it does not pass on.
 *
 * Does nothing for a process that npm does not run itself: `nohup node src/cli/start.ts &` outlives the shell, as its user expects.
 */
export function endWithNpm(): void {
  const [, program = ""] = process.argv;
  // npm's variables alone say little: whatever an npm script starts has them too.
  if (process.env.npm_lifecycle_script?.includes(relative(PROJECT_ROOT, program)) !== true) return;
  const npm = process.ppid;
  const look = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(look);
    process.kill(process.pid, "SIGTERM");
  }, LOOK_EVERY_MS).unref();
}
