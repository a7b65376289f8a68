import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll } from "vitest";
import { QUIET_ENV } from "../../src/tools/cli/run-wrangler.ts";
import type { RunWrangler } from "./run-main.ts";
import type { WranglerResult } from "./warm-wrangler-process.ts";

/**
 * The real wrangler for the commands of a test file. One process runs them one after the other, because loading wrangler takes longer than
 * most commands. Call this at the top of a test file.
 */
export function warmWrangler(): RunWrangler {
  let child: ChildProcess | undefined;
  let exitError: Promise<never>;
  let before: Promise<unknown> = Promise.resolve();
  afterAll(() => child?.kill());
  return (args, { env, root, input }) => {
    const result = before.then(async () => {
      if (child === undefined) {
        child = fork(join(import.meta.dirname, "warm-wrangler-process.ts"), { execArgv: ["--no-warnings"] });
        exitError = once(child, "exit").then(() => Promise.reject(new Error("The process of wrangler ended.")));
        exitError.catch(() => {});
      }
      const { CLOUDFLARE_ENV, NODE_ENV, ...ownEnv } = process.env;
      child.send({ args, root, input, env: { ...QUIET_ENV, ...ownEnv, ...env } });
      const [{ exitCode, chunks }] = (await Promise.race([once(child, "message"), exitError])) as [WranglerResult];
      const textOf = (streams: readonly string[]) =>
        chunks.flatMap(({ stream, text }) => (streams.includes(stream) ? text : [])).join("");
      return { exitCode, stdout: textOf(["stdout"]), stderr: textOf(["stderr"]), output: textOf(["stdout", "stderr"]) };
    });
    before = result.catch(() => {});
    return result;
  };
}
