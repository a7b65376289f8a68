import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { descendants, isAlive, place, start, useCheckout } from "../support/npm-start.ts";

useCheckout();

const SOON = { timeout: 90_000, interval: 200 };
const left: number[] = [];

afterEach(() => {
  for (const pid of left.splice(0)) if (isAlive(pid)) process.kill(pid, "SIGKILL");
});

/** A process and all of its descendants. They are killed when the test ends, should any still run. */
function all(pid: number) {
  const found = [{ pid, name: "" }, ...descendants(pid)];
  left.push(...found.map((each) => each.pid));
  return found;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().on("error", () => resolve(false));
    server.listen(port, "localhost", () => server.close(() => resolve(true)));
  });
}

describe("npm start that is ended from outside", { timeout: 240_000 }, () => {
  /** The process that gets the signal, found by its command line. */
  const TARGETS = { npm: /^$/, wrangler: /end-with-parent\.ts/ };

  it.each([
    ["npm", "SIGINT"],
    ["npm", "SIGHUP"],
    ["wrangler", "SIGKILL"],
  ] as const)("by a signal to %s, %s, leaves no process and a free port", async (target, signal) => {
    const running = await start([], "npm");
    expect((await running.get("/healthz")).status).toBe(200);
    const before = all(running.pid);
    expect(before.filter(({ name }) => /\/workerd serve /.test(name))).toHaveLength(2);
    const [{ pid } = expect.unreachable(target)] = before.filter(({ name }) => TARGETS[target].test(name));
    process.kill(pid, signal);
    await vi.waitFor(() => expect(before.filter((each) => isAlive(each.pid))).toEqual([]), SOON);
    expect(await isFree(Number(new URL(running.url).port))).toBe(true);
  });

  it("by Ctrl-C, which reaches all of its processes at once, leaves no process and a free port", async () => {
    const running = await start([], "npm");
    const before = all(running.pid);
    process.kill(-running.pid, "SIGINT");
    await vi.waitFor(() => expect(before.filter((each) => isAlive(each.pid))).toEqual([]), SOON);
    expect(await isFree(Number(new URL(running.url).port))).toBe(true);
  });
});

describe("npm start in the background of a shell that ends", { timeout: 240_000 }, () => {
  it.each([
    ["npm start", "nohup npm start --", {}],
    // As in a shell that an npm script opened: npm's variables are set, and belong to another program.
    ["node", `nohup '${process.execPath}' src/cli/start.ts`, { npm_lifecycle_script: "vitest run" }],
  ])(
    "%s goes on until it is ended itself by SIGTERM, which leaves no process and a free port",
    async (_, command, variables) => {
      const log = join(place.folder, "background.log");
      const output = openSync(log, "w");
      const { NODE_ENV, CLOUDFLARE_ENV, npm_lifecycle_script: __, ...env } = process.env;
      const where = `--port 0 --inspector-port 0 --persist-to '${join(place.folder, "state")}'`;
      const shell = spawn("sh", ["-c", `${command} ${where} & echo $!`], {
        cwd: place.checkout,
        env: { ...env, ...variables },
        stdio: ["ignore", "pipe", output],
        detached: true,
      });
      let said = "";
      shell.stdout?.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
      await new Promise((resolve) => shell.on("exit", resolve));
      closeSync(output);
      const pid = Number(said.split("\n")[0]);
      left.push(pid);
      await vi.waitFor(() => expect(`${said}${readFileSync(log, "utf8")}`).toMatch(/Ready on http/), SOON);
      const before = all(pid);
      const [, url = ""] = /Ready on (http:\S+)/.exec(`${said}${readFileSync(log, "utf8")}`) ?? [];
      // Longer than the command needs to notice that its parent has ended.
      await sleep(2_000);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      expect(before.filter((each) => !isAlive(each.pid))).toEqual([]);
      process.kill(pid, "SIGTERM");
      await vi.waitFor(() => expect(before.filter((each) => isAlive(each.pid))).toEqual([]), SOON);
      expect(await isFree(Number(new URL(url).port))).toBe(true);
    },
  );
});

describe("npm run demo that is ended from outside", { timeout: 240_000 }, () => {
  it.each(["SIGTERM", "SIGKILL"] as const)(
    "by the signal %s to npm, leaves no process, also before it is done",
    async (signal) => {
      const { NODE_ENV, CLOUDFLARE_ENV, ...env } = process.env;
      // A killed run leaves its folder behind, which is deleted with the test's folder.
      const npm = spawn("npm", ["run", "demo"], {
        cwd: place.checkout,
        env: { ...env, TMPDIR: place.folder },
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      npm.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
      await vi.waitFor(() => expect(said).toContain("Starting the Worker"), SOON);
      await vi.waitFor(() => {
        expect(descendants(npm.pid as number).filter(({ name }) => /\/workerd serve /.test(name))).not.toEqual([]);
      }, SOON);
      const before = all(npm.pid as number);
      process.kill(npm.pid as number, signal);
      await vi.waitFor(() => expect(before.filter((each) => isAlive(each.pid))).toEqual([]), SOON);
      expect(said).not.toMatch(/\d+ passed, \d+ failed/);
    },
  );
});
