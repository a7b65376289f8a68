import { join } from "node:path";
import type { Main } from "../../src/tools/cli/command.ts";
import type { Io } from "../../src/tools/cli/io.ts";
import type { CliResult } from "./run-cli.ts";

/** Runs a command inside this process. It sees only the variables that the test gives. */
export async function runMain(
  main: Main,
  args: readonly string[],
  { input = "", wrangler, ...outside }: { input?: string | Uint8Array; wrangler?: RunWrangler } & Partial<Outside> = {},
): Promise<CliResult> {
  const { env = {}, root = join(import.meta.dirname, "../..") } = outside;
  const run = (args: readonly string[], text?: string) => {
    if (wrangler === undefined) throw new Error(`This test gives no wrangler, and the command runs ${args.join(" ")}`);
    return wrangler(args, { env, root, input: text ?? "" });
  };
  const output = { stdout: "", stderr: "" };
  const say = (stream: keyof typeof output) => (line: string) => {
    output[stream] += `${line}\n`;
  };
  const exitCode = await main([...args], {
    out: say("stdout"),
    err: say("stderr"),
    env,
    stdin: () => Buffer.from(input),
    root,
    wrangler: run,
    async handOver(args) {
      const result = await run(args);
      output.stdout += result.stdout;
      output.stderr += result.stderr;
      return result.exitCode;
    },
  });
  return { exitCode, ...output };
}

/** What a test may set: the variables, and the folder with package.json and wrangler.toml. */
type Outside = Pick<Io, "env" | "root">;

/** Runs wrangler in a folder with these variables. */
export type RunWrangler = (
  args: readonly string[],
  outside: Outside & { input: string },
) => Promise<{ exitCode: number; stdout: string; stderr: string; output: string }>;
