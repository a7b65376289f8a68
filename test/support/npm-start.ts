import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { makeCheckout } from "./checkout.ts";

/**
 * A checkout in which a test file runs `npm start`, and a folder for its files. At the end of the test file both are deleted and
 * all processes are killed.
 */
export const place = { folder: "", checkout: "" };

const children: ChildProcess[] = [];

/** Call it at the top of a test file. @param builds see makeCheckout() */
export function useCheckout(builds = false): void {
  beforeAll(() => {
    place.folder = mkdtempSync(join(tmpdir(), "start-test-"));
    place.checkout = join(place.folder, "checkout");
    makeCheckout(place.checkout, builds);
  });

  afterAll(() => {
    for (const { pid } of children) {
      try {
        if (pid !== undefined) process.kill(-pid, "SIGKILL");
      } catch {
        // The process has already ended.
      }
    }
    rmSync(place.folder, { recursive: true, force: true, maxRetries: 3 });
  });
}

/** Runs a command in the checkout, and kills it when it does not end by itself. */
export function toItsEnd(program: string, args: string[]) {
  const { NODE_ENV, CLOUDFLARE_ENV, ...env } = process.env;
  const child = spawn(program, args, { cwd: place.checkout, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  children.push(child);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const tooLong = setTimeout(() => process.kill(-(child.pid as number), "SIGKILL"), 40_000);
  return new Promise<{ exitCode: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on("close", (exitCode) => {
      clearTimeout(tooLong);
      resolve({ exitCode, stdout, stderr });
    });
  });
}

/** The descendants of a process, as pid and command line. */
export function descendants(pid: number): { pid: number; name: string }[] {
  const table = execFileSync("ps", ["-A", "-o", "ppid=,pid=,args="], { encoding: "utf8" });
  const all = table
    .split("\n")
    .map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? [])
    .map(([, parent, child, name = ""]) => ({ parent: Number(parent), pid: Number(child), name }));
  const descendantsOf = (ancestor: number): typeof all =>
    all.filter(({ parent }) => parent === ancestor).flatMap((child) => [child, ...descendantsOf(child.pid)]);
  return descendantsOf(pid);
}

/** Whether a process runs. A zombie does not run: it has ended, and its parent has not waited for it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const { status, stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return status === 0 && !stdout.trim().startsWith("Z");
}

/** The ways to start the service: as a person does, and as other programs do. */
const BY = { node: [process.execPath, "src/tools/cli/start.ts"], npm: ["npm", "start", "--"] } as const;

/** Starts the service on a free port with its state in a folder of the test, and waits until it serves. */
export async function start(more: readonly string[] = [], by: keyof typeof BY = "node") {
  const where = ["--port", "0", "--inspector-port", "0", "--persist-to", join(place.folder, "state")];
  const [program, ...words] = BY[by];
  const { NODE_ENV, CLOUDFLARE_ENV, ...env } = process.env;
  const child = spawn(program, [...words, ...where, ...more], {
    cwd: place.checkout,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  children.push(child);
  let output = "";
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
  const url = await new Promise<string>((resolve, reject) => {
    const read = (text: string) => {
      output += text;
      const ready = /Ready on (http:\S+)/.exec(output);
      if (ready?.[1] !== undefined) resolve(ready[1]);
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    void ended.then(() => reject(new Error(`It ended early:\n${output}`)));
  });
  return {
    url,
    pid: child.pid as number,
    output: () => output,
    get: (path: string, ms = 60_000) => fetch(`${url}${path}`, { signal: AbortSignal.timeout(ms) }),
    admin(method: string, body?: unknown, path = "") {
      const token = /^ADMIN_TOKEN=(.*)$/m.exec(readFileSync(join(place.checkout, ".dev.vars"), "utf8"))?.[1];
      return fetch(`${url}/admin/sites${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    },
    stop(signal: NodeJS.Signals) {
      child.kill(signal);
      return ended;
    },
    /** Kills all of its processes at once, as a power cut does. */
    kill() {
      process.kill(-(child.pid as number), "SIGKILL");
      return ended;
    },
    workerds: () =>
      descendants(child.pid as number).flatMap(({ pid, name }) => (/\/workerd serve /.test(name) ? [pid] : [])),
  };
}
