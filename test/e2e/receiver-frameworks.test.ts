import { type ChildProcess, execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../src/tools/cli/local-address.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { eventually } from "../support/eventually.ts";
import { startExample } from "../support/run-example.ts";

/** The receivers in frameworks that docs/receiving.md shows. Each is taken from the page and run with its framework. */

const ROOT = join(import.meta.dirname, "../..");
const PARTS = join(ROOT, "test/frameworks");
const PAGES = ["docs/receiving.md", "docs/zh/receiving.md"].map((path) => readFileSync(join(ROOT, path), "utf8"));
const [PAGE = "", CHINESE = ""] = PAGES;

/** Debian's libraries of Spring MVC and Jetty, and Laravel's. `.ci/run` installs them. */
const JARS = [
  "commons-logging",
  "servlet-api",
  ...["core", "beans", "context", "expression", "aop", "web", "web.servlet"].map((name) => `spring3-${name}`),
  ...["server", "servlet", "security", "http", "io", "util"].map((name) => `jetty9-${name}`),
].map((name) => `/usr/share/java/${name}.jar`);
const LARAVEL = ["Config", "Events", "Http", "Routing"].map((part) => `/usr/share/php/Illuminate/${part}/autoload.php`);

interface Framework {
  /** The first words of the line that its block on the page has and no other. */
  mark: string;
  file: string;
  needs: string[];
  /** The command that serves the file at a port. `folder` has the file. */
  command: (folder: string, port: number) => string[];
}

const runTypeScript = (file: string) => (folder: string, port: number) => {
  const own = join(folder, `${port}-${file}`);
  writeFileSync(own, readFileSync(join(folder, file), "utf8").replaceAll("8080", String(port)));
  return [process.execPath, "--disable-warning=ExperimentalWarning", own];
};

const FRAMEWORKS: Record<string, Framework> = {
  Express: { mark: "import express from", file: "express.ts", needs: [], command: runTypeScript("express.ts") },
  Fastify: { mark: "import { fastify } from", file: "fastify.ts", needs: [], command: runTypeScript("fastify.ts") },
  Spring: {
    mark: "@RestController",
    file: "EventController.java",
    needs: ["/usr/bin/javac", ...JARS],
    command: (folder) => ["java", "-XX:TieredStopAtLevel=1", "-cp", [folder, ...JARS].join(":"), "ServeSpring"],
  },
  Laravel: {
    mark: "use Illuminate\\",
    file: "EventController.php",
    needs: ["/usr/bin/php", ...LARAVEL],
    command: (_, port) => ["php", "-S", `127.0.0.1:${port}`, join(PARTS, "serve-laravel.php")],
  },
};

const missing = (needs: string[]) => needs.filter((path) => !existsSync(path));
const runnable = Object.keys(FRAMEWORKS).filter((name) => missing(FRAMEWORKS[name]?.needs ?? []).length === 0);
for (const [name, { needs }] of Object.entries(FRAMEWORKS)) {
  if (runnable.includes(name)) continue;
  it.skipIf(process.env.CI === undefined)(`what runs the receiver in ${name} is installed`, () =>
    expect.unreachable(`no ${missing(needs).join(", no ")}`),
  );
}

/** The blocks of a page that are a receiver in a framework. */
const receiversOf = (page: string) =>
  [...page.matchAll(/^```(?:ts|java|php)\n(.*?)^```$/gms)]
    .map(([, code = ""]) => code)
    .filter((code) => Object.values(FRAMEWORKS).some(({ mark }) => code.split("\n").some((it) => it.startsWith(mark))));

const execute = promisify(execFile);
const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const BODY = '{"type":"ping","timestamp":"2027-01-15T08:00:00.000Z","data":{"seq":1,"webhook_id":"王伟"}}';

let worker: BuiltWorker;
let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "frameworks-"));
  for (const [index, { file }] of Object.values(FRAMEWORKS).entries())
    writeFileSync(join(folder, file), receiversOf(PAGE)[index] ?? "");
  const [, route = ""] = /`(Route::post\([^`]+;)`/.exec(PAGE) ?? [];
  const uses = "use App\\Http\\Controllers\\EventController;\nuse Illuminate\\Support\\Facades\\Route;\n";
  writeFileSync(join(folder, "api.php"), `<?php\n${uses}${route}\n`);
  for (const file of ["store.ts", "EventStore.java", "ServeSpring.java"])
    copyFileSync(join(PARTS, file), join(folder, file));
  writeFileSync(join(folder, "package.json"), '{"private":true,"type":"module"}');
  linkPackages();
  const java = ["EventController.java", "EventStore.java", "ServeSpring.java"].map((file) => join(folder, file));
  const compiling = runnable.includes("Spring")
    ? execute("javac", ["-d", folder, "-cp", JARS.join(":"), ...java])
    : undefined;
  worker = await startBuiltWorker({ vars: { WEBHOOK_LOOPBACK: "allow" } });
  await compiling;
});

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await worker?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Gives the folder the packages that the page names, as npm has installed them for test/frameworks. */
function linkPackages() {
  const { resolve } = createRequire(join(PARTS, "package.json"));
  mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
  for (const name of ["express", "fastify", "standardwebhooks", "@types/express", "@types/node"]) {
    symlinkSync(dirname(resolve(`${name}/package.json`)), join(folder, "node_modules", name));
  }
}

interface Receiver {
  url: string;
  /** The folder of its events. */
  seen: string;
  child: ChildProcess;
}

/** Starts a receiver, and waits until it answers or ends. */
async function start(name: string, secret: string, ownPort?: number): Promise<Receiver> {
  const port = ownPort ?? (await freePort("127.0.0.1"));
  const seen = mkdtempSync(join(folder, "seen-"));
  const command = FRAMEWORKS[name]?.command(folder, port) ?? [];
  const child = startExample(command, { PORT: String(port), SEEN: seen, EVENTS: folder, WEBHOOK_SECRET: secret });
  children.push(child);
  const url = `http://127.0.0.1:${port}/your/path`;
  const isUp = () =>
    fetch(url).then(
      () => true,
      () => child.exitCode !== null,
    );
  await eventually(async () => expect(await isUp()).toBe(true));
  return { url, seen, child };
}

const now = () => Math.floor(Date.now() / 1000);

/** Posts an event that `secret` signed. @returns the status of the answer */
async function post(
  { url }: Receiver,
  id: string,
  { key = Buffer.alloc(32, 7), at = now(), sent = BODY, change = {} as Record<string, string> } = {},
): Promise<number> {
  const signature = `v1,${createHmac("sha256", key).update(`${id}.${at}.${BODY}`).digest("base64")}`;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(at),
    "webhook-signature": signature,
    ...change,
  };
  const present = Object.entries(headers).filter(([, value]) => value !== "");
  return (await fetch(url, { method: "POST", headers: Object.fromEntries(present), body: sent })).status;
}

it("the pages on receiving show one receiver for each framework, the same in both languages", () => {
  const receivers = receiversOf(PAGE);
  expect(receivers).toHaveLength(Object.keys(FRAMEWORKS).length);
  for (const [index, { mark }] of Object.values(FRAMEWORKS).entries()) expect(receivers[index]).toContain(mark);
  expect(receiversOf(CHINESE)).toEqual(receivers);
  for (const line of ["`Route::post(", "`'agent_session' =>"]) for (const page of PAGES) expect(page).toContain(line);
});

it("the TypeScript receivers of docs/receiving.md compile with strict settings", async () => {
  const strict = ["--strict", "--noEmit", "--module", "nodenext", "--allowImportingTsExtensions", "--ignoreConfig"];
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  await execute(process.execPath, [compiler, ...strict, "--types", "node", "express.ts", "fastify.ts"], {
    cwd: folder,
  });
});

it.each(runnable)(
  "the receiver in %s passes the drill of the service, also after a rotation, and stores each event once",
  async (name) => {
    const { siteId } = await worker.provision([10411]);
    const webhooks = `/admin/sites/${siteId}/webhooks`;
    const port = await freePort("127.0.0.1");
    const { id, secret } = await worker.admin<{ id: string; secret: string }>("POST", webhooks, {
      url: `http://127.0.0.1:${port}/your/path`,
    });
    const receiver = await start(name, secret, port);
    await worker.admin("POST", `${webhooks}/${id}/rotate`);
    expect(await worker.admin("POST", `${webhooks}/${id}/drill`)).toMatchObject({ ok: true });
    const stored = readdirSync(receiver.seen);
    expect(stored).toHaveLength(2);
    for (const file of stored) {
      expect(file).toMatch(/^evt_[0-9a-f]{32}\.json$/);
      expect(JSON.parse(readFileSync(join(receiver.seen, file), "utf8"))).toMatchObject({ type: "ping" });
    }
  },
);

it.each(runnable)("the receiver in %s refuses with 400 what it must not trust, and stores none of it", async (name) => {
  const receiver = await start(name, SECRET);
  const refused: Parameters<typeof post>[2][] = [
    { key: Buffer.alloc(32, 8) },
    { at: now() - 310 },
    { at: now() + 310 },
    { sent: `${BODY} ` },
    { sent: BODY.replace("王伟", "王芳") },
    { change: { "webhook-id": "" } },
    { change: { "webhook-timestamp": "" } },
    { change: { "webhook-timestamp": "soon" } },
    { change: { "webhook-signature": "" } },
    { change: { "webhook-signature": "v1," } },
  ];
  for (const each of refused) expect([each, await post(receiver, "evt_1", each)]).toEqual([each, 400]);
  expect(readdirSync(receiver.seen)).toEqual([]);
  expect(await post(receiver, "evt_1")).toBe(204);
  expect(readFileSync(join(receiver.seen, "evt_1.json"), "utf8")).toBe(BODY);
});

it.each(runnable)(
  "the receiver in %s answers 503 while it cannot store, and stores the same event later",
  async (name) => {
    const receiver = await start(name, SECRET);
    renameSync(receiver.seen, `${receiver.seen}-away`);
    expect(await post(receiver, "evt_1")).toBe(503);
    renameSync(`${receiver.seen}-away`, receiver.seen);
    expect(await post(receiver, "evt_1")).toBe(204);
    expect(readdirSync(receiver.seen)).toEqual(["evt_1.json"]);
  },
);

it.each(runnable)("the receiver in %s takes nothing while it has no secret", async (name) => {
  for (const secret of ["", "whsec_"]) {
    const receiver = await start(name, secret);
    // With an empty key anybody could sign.
    const answer = await post(receiver, "evt_1", { key: Buffer.alloc(0) }).catch(() => "it has ended");
    expect(answer).toBe(name === "Laravel" ? 503 : "it has ended");
    expect(readdirSync(receiver.seen)).toEqual([]);
  }
});
