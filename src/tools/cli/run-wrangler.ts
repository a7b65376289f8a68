import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The folder of package.json and wrangler.toml. */
export const PROJECT_ROOT = join(import.meta.dirname, "../../..");

/** wrangler's CLI without its launcher, which loses the exit code when a signal ends wrangler. */
export const WRANGLER = join(
  dirname(createRequire(import.meta.url).resolve("wrangler/package.json")),
  "wrangler-dist/cli.js",
);

/** Turns off wrangler's banner with its check for updates, its telemetry, its look-up of this machine's location, and its hints. */
export const QUIET_ENV = {
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_NO_SKILLS_UPDATE_PROMPTS: "true",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
};

const env = () => ({ ...QUIET_ENV, ...process.env });

export interface WranglerResult {
  /** The exit code as a shell gives it: 128 + the number of the signal when a signal ended wrangler. */
  exitCode: number;
  stdout: string;
  /** Standard output and standard error in one text, for the message when wrangler failed. */
  output: string;
}

/** Runs wrangler and returns its output. wrangler has no terminal here, so it answers its questions with the defaults. */
export function runWrangler(args: readonly string[], input?: string): Promise<WranglerResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--no-warnings", WRANGLER, ...args], {
      cwd: PROJECT_ROOT,
      env: env(),
      stdio: ["pipe", "pipe", "pipe"],
    });
    // wrangler may end without reading its input, which is an error of stdin. The exit code gives the reason.
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
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
 * Gives the terminal to wrangler until it ends. Passes signals to wrangler, so that wrangler can end workerd.
 *
 * @returns wrangler's exit code, as a shell gives it
 */
export async function handOverToWrangler(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ["--no-warnings", WRANGLER, ...args], {
    cwd: PROJECT_ROOT,
    env: env(),
    stdio: "inherit",
  });
  return (await handedOver(child)).exitCode;
}

/**
 * Gives the terminal to `wrangler dev` until it ends, or until `stop` is aborted. When this process is killed, wrangler ends. When
 * wrangler is killed, workerd ends.
 *
 * @param serving called once `wrangler dev` serves. wrangler's own message has another address than the one that callers use
 * @returns wrangler's exit code, and whether somebody asked this process to end
 */
export function runWranglerDev(
  args: readonly string[],
  serving: () => void,
  stop: AbortSignal,
): Promise<{ exitCode: number; wasAskedToEnd: boolean }> {
  const endsToo = new URL("end-with-parent.ts", import.meta.url).href;
  const child = spawn(process.execPath, ["--no-warnings", "--import", endsToo, WRANGLER, "dev", ...args], {
    cwd: PROJECT_ROOT,
    env: env(),
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  stop.addEventListener("abort", () => child.kill("SIGTERM"));
  const wranglerPids = new Set<number>();
  child.on("message", (message) => {
    const { event, pid } = JSON.parse(String(message)) as { event: string; pid: number };
    if (event === "DEV_SERVER_READY") serving();
    if (event === "CHILD_STARTED") wranglerPids.add(pid);
    if (event === "CHILD_ENDED") wranglerPids.delete(pid);
  });
  return handedOver(child).finally(() => {
    for (const pid of wranglerPids) killProcess(pid);
  });
}

/** Kills a process that wrangler left behind. It would keep the port in use. */
function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has already ended with wrangler.
  }
}

function handedOver(child: ChildProcess): Promise<{ exitCode: number; wasAskedToEnd: boolean }> {
  return new Promise((resolve, reject) => {
    let wasAskedToEnd = false;
    const forward = (signal: NodeJS.Signals) => {
      wasAskedToEnd = true;
      child.kill(signal);
    };
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    for (const signal of signals) process.on(signal, forward);
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      for (const each of signals) process.off(each, forward);
      resolve({ exitCode: shellCode(code, signal), wasAskedToEnd });
    });
  });
}

const SIGNAL_NUMBERS: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

function shellCode(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + ((signal && SIGNAL_NUMBERS[signal]) ?? 0);
}
