import { execFileSync, spawn, spawnSync } from "node:child_process";
import { extname, join } from "node:path";
import { expect, it } from "vitest";
import type { Program } from "../../src/tools/docs/programs.ts";

export const EXAMPLES = join(import.meta.dirname, "../../src/client/examples");

/** The commands that a machine must have to run programs of a language. */
const TOOLS: Record<string, string[]> = {
  ".sh": ["openssl version", "curl --version"],
  ".mjs": ["node --version"],
  ".py": ["python3 --version"],
  ".php": ["php --version"],
  ".go": ["go version"],
  ".java": ["javac -version", "java -version"],
};

/**
 * The programs for which this machine has the tools. Each other program gets a test that is skipped, or that fails if CI is set.
 */
export function runnablePrograms(programs: readonly Program[]): Program[] {
  return programs.filter(({ file }) => {
    const tools = TOOLS[extname(file)] ?? [`what runs ${file}`];
    const missing = tools.filter((tool) => spawnSync("sh", ["-c", tool]).status !== 0);
    // .ci/run installs all languages.
    if (missing.length > 0) {
      it.skipIf(process.env.CI === undefined)(`the tools that run ${file} are installed`, () =>
        expect.unreachable(`no ${missing.join(", no ")}`),
      );
    }
    return missing.length === 0;
  });
}

/** The command of a program. A compiled program is built once in `folder`, because some run a hundred times. */
export function commandOf({ file, run }: Program, folder: string): string[] {
  const name = file.replace(/\..*/, "");
  const builds: Record<string, [string[], string[]]> = {
    ".go": [["go", "build", "-o", folder, file], [join(folder, name)]],
    ".java": [
      ["javac", "-d", folder, file],
      ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", folder, name],
    ],
  };
  const [[compiler = "", ...args], command] = builds[extname(file)] ?? [[], run.split(" ")];
  if (compiler !== "") execFileSync(compiler, args, { cwd: EXAMPLES });
  return command;
}

/** Milliseconds. The first run of Go also compiles its library. */
const LIMIT = 120_000;

/** What a program of src/client/examples printed, and its exit code. */
export interface ExampleResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Starts a program with only these settings, a plain locale and no proxy, so that the output does not depend on the machine. */
export function startExample([command = "", ...args]: string[], settings: Record<string, string>, limit?: number) {
  const { PATH, HOME, TMPDIR } = process.env;
  const env = { PATH, HOME, TMPDIR, LC_ALL: "C", ...settings };
  // The generated types would require the Worker's settings in each process.
  const own = { env: env as unknown as NodeJS.ProcessEnv, cwd: EXAMPLES };
  return spawn(command, args, { ...own, timeout: limit, killSignal: "SIGKILL" });
}

/** Runs a program. If it does not end, it is killed and its status is null. */
export function runExample(command: string[], settings: Record<string, string>): Promise<ExampleResult> {
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
