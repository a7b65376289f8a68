import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { descendants, isAlive, place, start, useCheckout } from "../../support/npm-start.ts";

useCheckout();

const startedPids: number[] = [];

afterEach(() => {
  for (const pid of startedPids.splice(0)) if (isAlive(pid)) process.kill(pid, "SIGKILL");
});

/** A process and all of its descendants. Those that still run when the test ends are killed. */
function all(pid: number) {
  const processes = [{ pid, name: "" }, ...descendants(pid)];
  startedPids.push(...processes.map((each) => each.pid));
  return processes;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().on("error", () => resolve(false));
    server.listen(port, "localhost", () => server.close(() => resolve(true)));
  });
}

describe("signals to npm start", () => {
  /** The process that gets the signal, found by its command line. */
  const TARGETS = { npm: /^$/, wrangler: /end-with-parent\.ts/ };

  it.each([
    ["npm", "SIGINT"],
    ["npm", "SIGHUP"],
    ["wrangler", "SIGKILL"],
  ] as const)("npm start ends all of its processes and frees its port when %s gets %s", async (target, signal) => {
    const running = await start([], "npm");
    expect((await running.get("/healthz")).status).toBe(200);
    const before = all(running.pid);
    expect(before.filter(({ name }) => /\/workerd serve /.test(name))).toHaveLength(2);
    const [{ pid } = expect.unreachable(target)] = before.filter(({ name }) => TARGETS[target].test(name));
    process.kill(pid, signal);
    await eventually(() => expect(before.filter((each) => isAlive(each.pid))).toEqual([]));
    expect(await isFree(Number(new URL(running.url).port))).toBe(true);
  });

  it("npm start ends all of its processes and frees its port after Ctrl-C, which reaches all of them together", async () => {
    const running = await start([], "npm");
    const before = all(running.pid);
    process.kill(-running.pid, "SIGINT");
    await eventually(() => expect(before.filter((each) => isAlive(each.pid))).toEqual([]));
    expect(await isFree(Number(new URL(running.url).port))).toBe(true);
  });
});

describe("in the background of a shell", () => {
  /** Starts a command in the background of a shell, and ends the shell once the command has said `ready`. @returns its process id */
  async function inBackground(command: string, ready: RegExp, variables: Record<string, string>) {
    const log = join(place.folder, "background.log");
    const output = openSync(log, "w");
    const { NODE_ENV, CLOUDFLARE_ENV, npm_lifecycle_script: _, ...env } = process.env;
    const shell = spawn("sh", ["-c", `${command} & echo $!; read _`], {
      cwd: place.checkout,
      env: { ...env, ...variables },
      stdio: ["pipe", "pipe", output],
      detached: true,
    });
    let shellOutput = "";
    shell.stdout?.setEncoding("utf8").on("data", (text: string) => {
      shellOutput += text;
    });
    const shellEnd = new Promise((resolve) => shell.on("exit", resolve));
    const everything = () => `${shellOutput}${readFileSync(log, "utf8")}`;
    await eventually(() => expect(everything()).toMatch(ready), 90_000);
    const pid = Number(shellOutput.split("\n")[0]);
    startedPids.push(pid);
    shell.stdin?.end();
    await shellEnd;
    closeSync(output);
    return { pid, text: everything() };
  }

  it("npm start outlives its shell, and after SIGTERM ends all of its processes and frees its port", async () => {
    const where = `--port 0 --inspector-port 0 --persist-to '${join(place.folder, "state")}'`;
    const { pid, text } = await inBackground(`nohup npm start -- ${where}`, /Ready on http/, {});
    const before = all(pid);
    const [, url = ""] = /Ready on (http:\S+)/.exec(text) ?? [];
    // The command needs less time to notice that its parent has ended.
    await sleep(2_000);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(before.filter((each) => !isAlive(each.pid))).toEqual([]);
    process.kill(pid, "SIGTERM");
    await eventually(() => expect(before.filter((each) => isAlive(each.pid))).toEqual([]));
    expect(await isFree(Number(new URL(url).port))).toBe(true);
  });

  it.each([
    // A shell that an npm script opened has npm's variables, but they belong to another program.
    ["goes on", "the script of another program", "vitest run", true],
    ["ends", "its own script", "exec node waits.ts", false],
  ])("a program in the background %s when npm's variables hold %s", async (_, __, script, goesOn) => {
    const program = `import { endWithNpm } from "./src/tools/cli/end-with-npm.ts"; endWithNpm(); setTimeout(() => {}, 240_000); console.log("waits");`;
    writeFileSync(join(place.checkout, "waits.ts"), program);
    const command = `nohup '${process.execPath}' "$PWD/waits.ts"`;
    const { pid } = await inBackground(command, /waits/, { npm_lifecycle_script: script });
    if (!goesOn) return eventually(() => expect(isAlive(pid)).toBe(false));
    await sleep(2_000);
    expect(isAlive(pid)).toBe(true);
  });
});

describe("signals to npm run demo", () => {
  it.each(["SIGTERM", "SIGKILL"] as const)(
    "npm run demo ends all of its processes when npm gets %s, also before the demo is done",
    async (signal) => {
      const { NODE_ENV, CLOUDFLARE_ENV, ...env } = process.env;
      // A killed run leaves its folder behind, which is deleted with the test's folder.
      const npm = spawn("npm", ["run", "demo"], {
        cwd: place.checkout,
        env: { ...env, TMPDIR: place.folder },
        stdio: ["ignore", "pipe", "inherit"],
      });
      let output = "";
      npm.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
      await eventually(() => expect(output).toContain("Starting the Worker"), 90_000);
      await eventually(() => {
        expect(descendants(npm.pid as number).filter(({ name }) => /\/workerd serve /.test(name))).not.toEqual([]);
      });
      const before = all(npm.pid as number);
      process.kill(npm.pid as number, signal);
      await eventually(() => expect(before.filter((each) => isAlive(each.pid))).toEqual([]));
      expect(output).not.toMatch(/\d+ passed, \d+ failed/);
    },
  );
});
