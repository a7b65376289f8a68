import { relative } from "node:path";
import { PROJECT_ROOT } from "./run-wrangler.ts";

const LOOK_EVERY_MS = 500;

/**
 * Ends this process by SIGTERM once the npm that runs it has ended. npm passes on only SIGTERM and SIGINT. They arrive here because
 * npm's script ends in `exec`. Without this function, the process would outlive an npm that was killed or lost its terminal.
 *
 * Does nothing for a process that npm does not run. A user expects that `nohup node src/tools/cli/start.ts &` outlives the shell.
 */
export function endWithNpm(): void {
  const [, program = ""] = process.argv;
  // npm's variables alone are no proof, because every process below an npm script has them. So its script must name this program.
  if (process.env.npm_lifecycle_script?.includes(relative(PROJECT_ROOT, program)) !== true) return;
  const npm = process.ppid;
  const parentCheck = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(parentCheck);
    process.kill(process.pid, "SIGTERM");
  }, LOOK_EVERY_MS).unref();
}
