import { spawn, spawnSync } from "node:child_process";
import { extname, join } from "node:path";

export const EXAMPLES = join(import.meta.dirname, "../../src/client/examples");

/** What tells that the tools of a language are here. */
const TOOLS: Record<string, string[][]> = {
  ".sh": [
    ["openssl", "version"],
    ["curl", "--version"],
  ],
  ".mjs": [["node", "--version"]],
  ".py": [["python3", "--version"]],
  ".php": [["php", "--version"]],
  ".go": [["go", "version"]],
  ".java": [["javac", "-version"]],
};

/** The names of the tools that a program needs and this machine lacks, or "". */
export function missingTools(file: string): string {
  const tools = TOOLS[extname(file)] ?? [[`a way to run ${file}`]];
  return tools.flatMap(([tool = "", ...args]) => (spawnSync(tool, args).status === 0 ? [] : [tool])).join(" ");
}

/** In milliseconds. The first run of Go also compiles its library. */
const LIMIT = 120_000;

/** What a program of src/client/examples printed, and its exit code. */
export interface Ran {
  status: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs a program with these settings alone, in a plain locale and without a proxy, so that the output does not depend on the machine.
 * A program that does not end is killed, and its status is null.
 */
export function runExample([command = "", ...args]: string[], settings: Record<string, string>): Promise<Ran> {
  const { PATH, HOME, TMPDIR } = process.env;
  const env = { PATH, HOME, TMPDIR, LC_ALL: "C", ...settings };
  // The generated types would give every process the Worker's own settings.
  const options = {
    cwd: EXAMPLES,
    env: env as unknown as NodeJS.ProcessEnv,
    timeout: LIMIT,
    killSignal: "SIGKILL",
  } as const;
  const child = spawn(command, args, options);
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
