import { spawn } from "node:child_process";
import { join } from "node:path";

export interface CliResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a file of src/tools/cli/ as npm does, without the settings of this process that the file would read. */
export function runCli(
  name: string,
  args: readonly string[],
  { env = {}, input = "" }: { env?: Record<string, string>; input?: string | Uint8Array } = {},
): Promise<CliResult> {
  return run(process.execPath, [join(import.meta.dirname, `../../src/tools/cli/${name}.ts`), ...args], { env, input });
}

export function run(
  program: string,
  args: readonly string[],
  { env = {}, input = "", cwd }: { env?: Record<string, string>; input?: string | Uint8Array; cwd?: string } = {},
): Promise<CliResult> {
  const { APPID, SECRET, BASE_URL, CLOUDFLARE_ENV, NODE_ENV, ...ownEnv } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...ownEnv, ...env },
      stdio: "pipe",
      ...(cwd !== undefined && { cwd }),
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ exitCode, stdout, stderr }));
    // A program may end without reading its input. Then stdin emits an error.
    child.stdin.on("error", () => {}).end(input);
  });
}
