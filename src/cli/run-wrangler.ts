import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Where package.json and wrangler.toml are. */
export const PROJECT_ROOT = join(import.meta.dirname, "../..");

/** The CLI itself, not its launcher: that one loses the exit code of a wrangler ended by a signal. */
const WRANGLER = join(dirname(createRequire(import.meta.url).resolve("wrangler/package.json")), "wrangler-dist/cli.js");

/** No banner with its look for updates, no telemetry, no look-up of this machine's location, no offers of other tools. */
const QUIET = {
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_NO_SKILLS_UPDATE_PROMPTS: "true",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
};

const env = () => ({ ...QUIET, ...process.env });

export interface WranglerResult {
  /** As a shell gives it: 128 + the signal's number when a signal ended it. */
  exitCode: number;
  stdout: string;
  /** Both streams as they came, to show when it failed. */
  output: string;
}

/** Runs wrangler to its end and keeps what it printed. It has no standard input, so it takes its questions' default answers. */
export function runWrangler(args: readonly string[]): Promise<WranglerResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--no-warnings", WRANGLER, ...args], {
      cwd: PROJECT_ROOT,
      env: env(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ exitCode: shellCode(code, signal), stdout, output }));
  });
}

/**
 * Hands the terminal to wrangler until it ends. SIGINT and SIGTERM sent to this process reach it, and it takes workerd with it.
 *
 * @returns its exit code, as a shell gives it
 */
export function handOverToWrangler(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--no-warnings", WRANGLER, ...args], {
      cwd: PROJECT_ROOT,
      env: env(),
      stdio: "inherit",
    });
    const forward = (signal: NodeJS.Signals) => child.kill(signal);
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    for (const signal of signals) process.on(signal, forward);
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      for (const each of signals) process.off(each, forward);
      resolve(shellCode(code, signal));
    });
  });
}

const SIGNAL_NUMBERS: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

function shellCode(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + ((signal && SIGNAL_NUMBERS[signal]) ?? 0);
}
