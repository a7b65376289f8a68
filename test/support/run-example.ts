import { execFileSync, spawn, spawnSync } from "node:child_process";
import { extname, join } from "node:path";
import { expect, it } from "vitest";
import type { Program } from "../../src/tools/docs/programs.ts";

export const EXAMPLES = join(import.meta.dirname, "../../src/client/examples");

/** What tells that the tools of a language are here. */
const TOOLS: Record<string, string[]> = {
  ".sh": ["openssl version", "curl --version"],
  ".mjs": ["node --version"],
  ".py": ["python3 --version"],
  ".php": ["php --version"],
  ".go": ["go version"],
  ".java": ["javac -version", "java -version"],
};

/** Those of the programs that this machine has the tools for. For each other there is a test, which is skipped, or fails where CI is set. */
export function runnable(programs: readonly Program[]): Program[] {
  return programs.filter(({ file }) => {
    const tools = TOOLS[extname(file)] ?? [`what runs ${file}`];
    const missing = tools.filter((tool) => spawnSync("sh", ["-c", tool]).status !== 0);
    // .ci/run installs all languages.
    if (missing.length > 0) {
      it.skipIf(process.env.CI === undefined)(`${file} is run`, () =>
        expect.unreachable(`no ${missing.join(", no ")}`),
      );
    }
    return missing.length === 0;
  });
}

/** The command of a program, which is built in `folder` where its language has a compiler: some run a hundred times. */
export function commandOf({ file, run }: Program, folder: string): string[] {
  const name = file.replace(/\..*/, "");
  const compiled: Record<string, [string[], string[]]> = {
    ".go": [["go", "build", "-o", folder, file], [join(folder, name)]],
    ".java": [
      ["javac", "-d", folder, file],
      ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", folder, name],
    ],
  };
  const [[compiler = "", ...args], command] = compiled[extname(file)] ?? [[], run.split(" ")];
  if (compiler !== "") execFileSync(compiler, args, { cwd: EXAMPLES });
  return command;
}

/** In milliseconds. The first run of Go also compiles its library. */
const LIMIT = 120_000;

/** What a program of src/client/examples printed, and its exit code. */
export interface Ran {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Starts a program with these settings alone, in a plain locale and without a proxy, so that the output does not depend on the machine. */
export function startExample([command = "", ...args]: string[], settings: Record<string, string>, limit?: number) {
  const { PATH, HOME, TMPDIR } = process.env;
  const env = { PATH, HOME, TMPDIR, LC_ALL: "C", ...settings };
  // The generated types would give every process the Worker's own settings.
  const own = { env: env as unknown as NodeJS.ProcessEnv, cwd: EXAMPLES };
  return spawn(command, args, { ...own, timeout: limit, killSignal: "SIGKILL" });
}

/** Runs a program. One that does not end is killed, and its status is null. */
export function runExample(command: string[], settings: Record<string, string>): Promise<Ran> {
  const child = startExample(command, settings, LIMIT);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}
