import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestHarness } from "wrangler";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";

const ROOT = join(import.meta.dirname, "../..");

/** What a caller writes; in TypeScript, so that it shows that the types are good too. */
const USE = `
import { AgentSessionClient, AgentSessionError, sign } from "agent-session-client";

export interface Target { baseUrl: string; appid: string; secret: string }

export async function use(target: Target) {
  const client = new AgentSessionClient(target);
  const { chatId, replayed } = await client.createSession({
    customer: { id: 12345678901234567890n, name: "王伟", ip: "203.0.113.7" },
    content: "我的订单在哪里？",
    agentIds: [10411],
    responsibleAgentId: 10411,
    sender: "customer",
    title: undefined,
  });
  const added = await client.addAgents({ chatId, agentIds: [10427, 10428] }, { idempotencyKey: \`add-\${chatId}\` });
  const again = await client.addAgents({ chatId, agentIds: [10427, 10428] }, { idempotencyKey: \`add-\${chatId}\` });
  const refusal = await client.addAgents({ chatId, agentIds: [10427] }).catch((error: unknown) => {
    if (!(error instanceof AgentSessionError)) throw error;
    return { code: error.code, status: error.status, message: error.message };
  });
  const { envelope } = await client.send("create_gd", { sbs: "only" });
  const signature: string = await sign("Jefe", "what do ya want for nothing?");
  return { chatId, replayed: [replayed, added.replayed, again.replayed], refusal, code: envelope.code, signature };
}
`;

const USED = {
  chatId: expect.any(Number),
  replayed: [false, false, true],
  refusal: { code: "state_forbids", status: 409, message: "当前状态不允许操作" },
  code: -1,
  signature: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
};

/** The node that runs the tests, and the machine's own where that is another: the package promises 20 and later. */
const NODES = [process.execPath, "/usr/bin/node", "/usr/local/bin/node"].filter(existsSync);

let folder: string;
let worker: BuiltWorker;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "client-package-"));
  const built = join(folder, "built");
  execFileSync(process.execPath, ["src/cli/build-client.ts", built], { cwd: ROOT });
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: built });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";

  const elsewhere = join(folder, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "package.json"), '{"private":true,"type":"module"}');
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", "--silent", `../${tarball}`], {
    cwd: elsewhere,
  });
  writeFileSync(join(elsewhere, "use.ts"), USE);
  compile("NodeNext", ["--target", "ES2022"]);
  writeFileSync(
    join(elsewhere, "main.js"),
    'import { use } from "./use.js";\nconsole.log(JSON.stringify(await use(JSON.parse(process.argv[2]))));\n',
  );
  writeFileSync(
    join(elsewhere, "worker.js"),
    'import { use } from "./use.js";\nexport default { fetch: async (request) => Response.json(await use(await request.json())) };\n',
  );
  worker = await startBuiltWorker();
});

afterAll(async () => {
  await worker?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Strict, the package's own declarations checked as well, and nothing of this repository's settings. */
function compile(resolution: "NodeNext" | "Bundler", more: string[]) {
  const module = resolution === "Bundler" ? "ESNext" : resolution;
  const strict = [
    "--strict",
    "--exactOptionalPropertyTypes",
    "--skipLibCheck",
    "false",
    "--types",
    "",
    "--lib",
    "ES2022,DOM",
  ];
  const options = ["--ignoreConfig", "--module", module, "--moduleResolution", resolution, ...strict, ...more];
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, ...options, "use.ts"], {
    cwd: join(folder, "elsewhere"),
    encoding: "utf8",
  });
}

async function target(): Promise<{ baseUrl: string; appid: string; secret: string; siteId: number }> {
  return { baseUrl: worker.url, ...(await worker.provision([10411, 10427, 10428])) };
}

/** What one use leaves in the store of its site. */
async function expectStored(siteId: number, chatId: number) {
  const list = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${siteId}/sessions`);
  expect(list.items).toHaveLength(1);
  expect(await worker.admin("GET", `/admin/sites/${siteId}/sessions/${chatId}`)).toMatchObject({
    status: "waiting",
    customer: { sbs: "12345678901234567890", name: "王伟" },
    participants: [{ agent_id: 10427 }, { agent_id: 10428 }],
    messages: [{ sender: "visitor", content: "我的订单在哪里？" }],
  });
}

describe("the installed package", () => {
  it("holds code, types, licence and readme, and needs nothing else", () => {
    const installed = join(folder, "elsewhere/node_modules/agent-session-client");
    const modules = ["client", "errors", "read-answer", "sign", "within-limit"];
    const expected = [
      "LICENSE",
      "README.md",
      "package.json",
      ...modules.flatMap((name) => [`${name}.d.ts`, `${name}.js`]),
    ];
    expect(readdirSync(installed).sort()).toEqual(expected.sort());
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(manifest).toMatchObject({ name: "agent-session-client", version, license: "MIT", sideEffects: false });
    expect(manifest).not.toHaveProperty("dependencies");
    expect(readdirSync(join(folder, "elsewhere/node_modules")).filter((name) => !name.startsWith("."))).toEqual([
      "agent-session-client",
    ]);
  });

  it("imports nothing of a platform's", () => {
    const installed = join(folder, "elsewhere/node_modules/agent-session-client");
    for (const name of readdirSync(installed).filter((file) => /\.(js|d\.ts)$/.test(file))) {
      const imported = [...readFileSync(join(installed, name), "utf8").matchAll(/from "([^"]+)"/g)].map(
        ([, from]) => from,
      );
      for (const from of imported) expect(from).toMatch(/^\.\/[\w-]+\.js$/);
    }
  });

  it("has types for both ways of resolving a package", () => {
    compile("Bundler", ["--noEmit"]);
    compile("NodeNext", ["--noEmit"]);
  });

  it.each(NODES)("works in plain Node: %s", async (node) => {
    const { siteId, ...app } = await target();
    const arguments_ = ["main.js", JSON.stringify(app)];
    // Not the waiting form: the Worker under test is served by this process.
    const { stdout } = await promisify(execFile)(node, arguments_, { cwd: join(folder, "elsewhere"), timeout: 30_000 });
    const used = JSON.parse(stdout);
    expect(used).toEqual(USED);
    await expectStored(siteId, used.chatId);
  });

  it("works bundled in a Worker without Node's modules", async () => {
    const caller = createTestHarness({
      root: join(folder, "elsewhere"),
      workers: [{ config: { name: "caller", main: "worker.js", compatibility_date: "2025-01-01" } }],
    });
    try {
      const { url } = await caller.listen();
      const { siteId, ...app } = await target();
      const answer = await fetch(url.href, { method: "POST", body: JSON.stringify(app) });
      const used = (await answer.json()) as { chatId: number };
      expect(used).toEqual(USED);
      await expectStored(siteId, used.chatId);
    } finally {
      await caller.close();
    }
  });
});
