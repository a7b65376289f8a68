import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

let folder: string;
let checkout: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "start-test-"));
  checkout = join(folder, "checkout");
  // A checkout of its own, because it makes files.
  const left = ["node_modules", "coverage", "dist", "test", ".git", ".wrangler", ".dev.vars"];
  cpSync(ROOT, checkout, { recursive: true, filter: (path) => !left.includes(basename(path)) });
  symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
});

afterEach(() => {
  try {
    if (child?.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended, as it should.
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

describe("npm start", { timeout: 120_000 }, () => {
  it("makes secrets, migrates, serves, keeps its state for the next run and takes everything with it", async () => {
    const first = await start();
    expect(first.output()).toContain("Made .dev.vars with a random MASTER_KEY and ADMIN_TOKEN");
    expect(first.output()).toContain("Database migrated.");
    expect(first.output()).toContain("npm run call -- create_gd");
    const secrets = readFileSync(join(checkout, ".dev.vars"), "utf8");
    expect((await first.admin("POST", { name: "Kept" })).status).toBe(201);
    expect(await first.stop("SIGTERM")).toBe(143);
    await expect(first.admin("GET")).rejects.toThrow("fetch failed");

    const second = await start();
    expect(second.output()).toContain("Database is up to date.");
    expect(second.output()).not.toContain("Made ");
    expect(readFileSync(join(checkout, ".dev.vars"), "utf8")).toBe(secrets);
    expect(await (await second.admin("GET")).json()).toMatchObject({ items: [{ id: 1, name: "Kept" }] });
    // Wrangler ends by the signal it is given, not by the one that is sent.
    expect([130, 143]).toContain(await second.stop("SIGINT"));
    await expect(second.admin("GET")).rejects.toThrow("fetch failed");

    for (const { output } of [first, second]) {
      expect(output()).not.toMatch(/WARNING|\[ERROR|✘/);
      for (const line of secrets.trim().split("\n")) expect(output()).not.toContain(line.slice(line.indexOf("=") + 1));
    }
  });
});

/** Starts it on a free port with its state in a folder of the test, and waits until it serves. */
async function start() {
  const args = ["src/cli/start.ts", "--port", "0", "--inspector-port", "0", "--persist-to", join(folder, "state")];
  const { NODE_ENV, CLOUDFLARE_ENV, ...env } = process.env;
  const started = spawn(process.execPath, args, {
    cwd: checkout,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  child = started;
  let output = "";
  const ended = new Promise<number | null>((resolve) => started.on("exit", resolve));
  const url = await new Promise<string>((resolve, reject) => {
    const read = (text: string) => {
      output += text;
      const ready = /Ready on (http:\S+)/.exec(output);
      if (ready?.[1] !== undefined) resolve(ready[1]);
    };
    started.stdout.setEncoding("utf8").on("data", read);
    started.stderr.setEncoding("utf8").on("data", read);
    void ended.then(() => reject(new Error(`It ended early:\n${output}`)));
  });
  return {
    output: () => output,
    admin(method: string, body?: unknown) {
      const token = /^ADMIN_TOKEN=(.*)$/m.exec(readFileSync(join(checkout, ".dev.vars"), "utf8"))?.[1];
      return fetch(`${url}/admin/sites`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    },
    stop(signal: NodeJS.Signals) {
      started.kill(signal);
      return ended;
    },
  };
}
