import { execFile, spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestHarness } from "wrangler";
import { main } from "../../src/tools/cli/build-client.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { run, runCli } from "../support/run-cli.ts";
import { runMain } from "../support/run-main.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A caller's program. It is in TypeScript, so that it tests the types too. */
const USE = `
import { AgentSessionClient, AgentSessionError, type CallOptions, EventVerificationError, sign, verifyEvent } from "@agent-session/client";

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
    metadata: { order_no: "7001" },
  });
  const added = await client.addAgents({ chatId, agentIds: [10427, 10428] }, { idempotencyKey: \`add-\${chatId}\` });
  const options: CallOptions = { idempotencyKey: \`add-\${chatId}\`, timeoutMs: 20_000, retries: 0 };
  const { data: again, response } = await client.addAgents({ chatId, agentIds: [10427, 10428] }, options).withResponse();
  const raw: [number, string | null] = [response.status, response.headers.get("idempotency-replayed")];
  const refusal = await client.addAgents({ chatId, agentIds: [10427] }).catch((error: unknown) => {
    if (!(error instanceof AgentSessionError)) throw error;
    return { code: error.code, status: error.status, named: !error.message.includes("kefu_ids"), message: error.message };
  });
  const { envelope } = await client.send("create_gd", { sbs: "only" });
  const signature: string = await sign("Jefe", "what do ya want for nothing?");
  const event = await read("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
  const forged = await read("whsec_AAAA").catch((error: unknown) => error instanceof EventVerificationError && error.code);
  return { raw, chatId, replayed: [replayed, added.replayed, again.replayed], refusal, code: envelope.code, signature, event, forged };
}

async function read(secret: string): Promise<string | number> {
  const headers = {
    "webhook-id": "evt_00000000000000000000000000000001",
    "webhook-timestamp": "1800000000",
    "webhook-signature": "v1,jnicZ2FcbdF5XYcz+VfqNZKVNctkVmoe1Bl+7lpQUNE=",
  };
  const body = '{"type":"ping","timestamp":"2027-01-15T08:00:00Z","data":{"seq":1,"webhook_id":"wh_1"}}';
  const event = await verifyEvent(headers, body, secret, { now: 1_800_000_000 });
  switch (event.type) {
    case "session.created":
      return event.data.chat_id + event.data.messages.length;
    case "session.agents_added":
      return event.data.agent_ids.length;
    case "ping":
      return event.data.webhook_id;
    default:
      return \`\${event.type} \${event.data.seq}\`;
  }
}
`;

const USED = {
  chatId: expect.any(Number),
  replayed: [false, false, true],
  raw: [200, "true"],
  refusal: {
    code: "state_forbids",
    status: 409,
    named: true,
    message: expect.stringMatching(
      /^the present state does not allow this \(当前状态不允许操作\) at POST http:\/\/\S+\/openapi\/chat\/add_kf: agentIds: /,
    ),
  },
  code: -1,
  signature: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  event: "wh_1",
  forged: "signature_wrong",
};

/** The node that runs the tests, and the machine's own ones. The package promises to work with node 20 and later. */
const NODES = [process.execPath, "/usr/bin/node", "/usr/local/bin/node"].filter(existsSync);

/** Programs of callers that use the types of their platform. */
const PLATFORMS = {
  "no platform's types": {
    options: ["--lib", "ES2022", "--types", ""],
    use: "declare const fetch: Fetch; const signal: SignalShape | undefined = undefined; declare const headers: EventHeaders;",
  },
  "the DOM's": {
    options: ["--lib", "ES2022,DOM", "--types", ""],
    use: "const { fetch } = globalThis; const signal = AbortSignal.timeout(1000); const { headers } = new Request('a:');",
  },
  "Node's": {
    options: ["--lib", "ES2023", "--types", "node", "--typeRoots", join(ROOT, "node_modules/@types")],
    use: "const { fetch } = globalThis; const signal = AbortSignal.timeout(1000); const headers: import('node:http').IncomingHttpHeaders = {};",
  },
  "a Worker's": {
    // wrangler's file of types has errors without --skipLibCheck.
    options: ["--lib", "ES2024", "--types", "", join(ROOT, "worker-configuration.d.ts"), "--skipLibCheck", "true"],
    use: "declare const service: Fetcher; const fetch = service.fetch.bind(service); const signal = AbortSignal.timeout(1000); const { headers } = new Request('a:');",
  },
};

const QUIET_NPM = { npm_config_audit: "false", npm_config_fund: "false", npm_config_update_notifier: "false" };

let folder: string;
let tarball: string;
let worker: BuiltWorker;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "client-package-"));
  const outcome = await runCli("build-client", [join(folder, "built")]);
  expect([outcome.exitCode, outcome.stderr]).toEqual([0, ""]);
  tarball = outcome.stdout.trimEnd().split("\n").at(-1) ?? "";
  const { size } = statSync(tarball);
  expect(outcome.stdout).toMatch(
    new RegExp(`^@agent-session/client \\d+\\.\\d+\\.\\d+ is built: ${size.toLocaleString("en")} bytes\\.`),
  );
  expect(outcome.stdout).toContain(`\n  npm install ${tarball}\n`);

  const elsewhere = join(folder, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "package.json"), '{"private":true,"type":"module"}');
  worker = await startBuiltWorker();
  // This is the command of the README for this deployment. It uses no registry.
  const readme = readFileSync(join(ROOT, "src/client/README.md"), "utf8");
  const [, command = ""] = /^```sh\n(npm i .*?)^```/ms.exec(readme) ?? [];
  const install = command.replace("https://sessions.example.com/", `${worker.url}/`);
  expect(install).toBe(`npm i ${worker.url}/client.tgz\n`);
  const env = { npm_config_registry: "http://127.0.0.1:1", npm_config_cache: join(elsewhere, ".npm"), ...QUIET_NPM };
  expect(await run("sh", ["-e"], { input: install, env, cwd: elsewhere })).toMatchObject({ exitCode: 0, stderr: "" });
  writeFileSync(join(elsewhere, "use.ts"), USE);
  compile("NodeNext", ["--target", "ES2022", "use.ts"]);
  writeFileSync(
    join(elsewhere, "main.js"),
    'import { use } from "./use.js";\nconsole.log(JSON.stringify(await use(JSON.parse(process.argv[2]))));\n',
  );
  writeFileSync(
    join(elsewhere, "worker.js"),
    'import { use } from "./use.js";\nexport default { fetch: async (request) => Response.json(await use(await request.json())) };\n',
  );
});

afterAll(async () => {
  await worker?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Compiles with strict settings, which check the package's own declarations too, and without this repository's settings. */
function compile(resolution: "NodeNext" | "Bundler", more: string[], platform = PLATFORMS["the DOM's"].options) {
  const module = resolution === "Bundler" ? "ESNext" : resolution;
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "false"];
  const options = ["--ignoreConfig", "--module", module, "--moduleResolution", resolution, ...strict];
  tool("typescript/bin/tsc", [...options, ...platform, ...more]);
}

/** Runs a tool of this repository in the caller's folder. @throws Error with the tool's output when the tool fails */
function tool(bin: string, args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, "node_modules", bin), ...args], {
    cwd: join(folder, "elsewhere"),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${bin}: ${stdout}${stderr}`);
}

async function target(): Promise<{ baseUrl: string; appid: string; secret: string; siteId: number }> {
  return { baseUrl: worker.url, ...(await worker.provision([10411, 10427, 10428])) };
}

/** Checks what one use of the package has stored in its site. */
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
  it("the client package holds code, types, licence and readme, and has no dependencies", () => {
    const installed = join(folder, "elsewhere/node_modules/@agent-session/client");
    const modules = [
      "client",
      "agent-session-error",
      "api-promise",
      "arguments",
      "event",
      "event-verification-error",
      "field-names",
      "operations",
      "options",
      "platform",
      "read-answer",
      "retry-after",
      "service-clock",
      "sign",
      "verify-event",
      "within-limit",
    ];
    const expected = [
      "LICENSE",
      "README.md",
      "package.json",
      ...modules.flatMap((name) => [`${name}.d.ts`, `${name}.js`]),
    ];
    expect(readdirSync(installed).sort()).toEqual(expected.sort());
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(manifest).toMatchObject({
      name: "@agent-session/client",
      version,
      license: "MIT",
      sideEffects: false,
      repository: { type: "git", url: expect.stringMatching(/^git\+https:/), directory: "src/client" },
    });
    expect(manifest).not.toHaveProperty("dependencies");
    expect(readdirSync(join(folder, "elsewhere/node_modules")).filter((name) => !name.startsWith("."))).toEqual([
      "@agent-session",
    ]);
  });

  it("the client package imports nothing of any platform", () => {
    const installed = join(folder, "elsewhere/node_modules/@agent-session/client");
    for (const name of readdirSync(installed).filter((file) => /\.(js|d\.ts)$/.test(file))) {
      const paths = [...readFileSync(join(installed, name), "utf8").matchAll(/from "([^"]+)"/g)].map(
        ([, from]) => from,
      );
      for (const from of paths) expect(from).toMatch(/^\.\/[\w-]+\.js$/);
    }
  });

  it("the client package exports each type that its signatures name", () => {
    const installed = join(folder, "elsewhere/node_modules/@agent-session/client");
    const read = (name: string) => readFileSync(join(installed, name), "utf8").replace(/\/\*.*?\*\//gs, "");
    const types = readdirSync(installed).filter((name) => name.endsWith(".d.ts"));
    const declarations = new Map<string, string>();
    for (const text of types.flatMap((name) => read(name).split(/^(?=\w)/m))) {
      const [, name] = /^(?:export )?(?:declare )?(?:class|interface|type|function) (\w+)/.exec(text) ?? [];
      if (name !== undefined) declarations.set(name, text);
    }
    const entry = read("client.d.ts");
    const lists = [...entry.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, list = ""]) => list);
    const whole = [...entry.matchAll(/^export type \* from "\.\/([\w-]+)\.js"/gm)].map(([, file]) =>
      read(`${file}.d.ts`),
    );
    const own = [entry, ...whole].flatMap(
      (text) => text.match(/^export (?:declare )?(?:class|interface|type) \w+/gm) ?? [],
    );
    const entryNames = new Set([...lists, ...own].flatMap((text) => text.match(/\b[A-Za-z]+(?=,|\s*$)/g) ?? []));
    expect([...entryNames].filter((name) => !declarations.has(name))).toEqual([]);
    const names = [...entryNames].flatMap((name) => declarations.get(name)?.match(/\w+/g) ?? []);
    expect(names.filter((name) => declarations.has(name) && !entryNames.has(name))).toEqual([]);
    expect([...entryNames]).toEqual(expect.arrayContaining(["AddedAgents", "SessionErased", "AddAgentsResult"]));
  });

  it("the client package has types for both ways of resolving a package", () => {
    compile("Bundler", ["--noEmit", "use.ts"]);
    compile("NodeNext", ["--noEmit", "use.ts"]);
  });

  it.each(Object.keys(PLATFORMS) as (keyof typeof PLATFORMS)[])(
    "the client package has types that compile with %s",
    (name) => {
      const { options, use } = PLATFORMS[name];
      const source = [
        'import { AgentSessionClient, type EventHeaders, type Fetch, type SignalShape, verifyEvent } from "@agent-session/client";',
        use,
        'export const client = new AgentSessionClient({ baseUrl: "https://a.example", appid: "a", secret: "s", fetch });',
        "export const added = client.addAgents({ chatId: 1, agentIds: [2] }, { signal });",
        "const old = { aborted: false, addEventListener() {}, removeEventListener() {} };",
        'export const sent = client.send("add_kf", {}, { signal: old });',
        'export const header = async () => (await client.send("add_kf", {})).headers.get("x-request-id");',
        'export const event = verifyEvent(headers, new Uint8Array(), "whsec_");',
        "export type Unused = [EventHeaders, Fetch, SignalShape];",
      ];
      writeFileSync(join(folder, "elsewhere/platform.ts"), source.join("\n"));
      compile("NodeNext", ["--noEmit", "--target", "ES2022", "platform.ts", "use.ts"], options);
    },
  );

  it("npm run build:client refuses a folder that is named like an option", async () => {
    expect(await runMain(main, ["--help"])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("FOLDER") });
    const refusal = (part: string) => ({ exitCode: 2, stdout: "", stderr: expect.stringContaining(part) });
    expect(await runMain(main, ["a", "b"])).toMatchObject(refusal("Left over: b"));
    const build = [join(ROOT, "src/tools/cli/build-client.ts"), "--out"];
    expect(await run(process.execPath, build, { cwd: folder })).toMatchObject(refusal("--out"));
    expect(readdirSync(folder).sort()).toEqual(["built", "elsewhere"]);
  });

  it("the served client package is the built one, and no page sends readers to a registry, which does not have it", async () => {
    const bytes = await (await fetch(`${worker.url}/client.tgz`)).bytes();
    expect(Buffer.from(bytes).equals(readFileSync(tarball))).toBe(true);
    for (const page of globSync("{README*,docs/**/*,src/client/README}.md", { cwd: ROOT })) {
      const text = readFileSync(join(ROOT, page), "utf8");
      expect([page, text.match(/npm (?:install|i|add|publish) [\w@]*agent-session.*/)]).toEqual([page, null]);
    }
  });

  it("the README's option that drills a lost answer compiles, and the second try of a call gets its first answer", async () => {
    const readme = readFileSync(join(ROOT, "src/client/README.md"), "utf8");
    const [option = ""] = readme.match(/^fetch: .*"x-drill".*$/m) ?? [];
    const source = [
      'import { AgentSessionClient, type NewSession } from "@agent-session/client";',
      "export const open = (target: { baseUrl: string; appid: string; secret: string }, session: NewSession) =>",
      `  new AgentSessionClient({ ...target, ${option} }).createSession(session);`,
    ];
    const elsewhere = join(folder, "elsewhere");
    writeFileSync(join(elsewhere, "drill.ts"), source.join("\n"));
    compile("NodeNext", ["--target", "ES2022", "drill.ts"]);
    const { open } = await import(join(elsewhere, "drill.js"));
    const { siteId, ...app } = await target();
    const customer = { id: "customer_001", name: "王伟", ip: "203.0.113.7" };
    const result = await open(app, {
      customer,
      content: "我的订单在哪里？",
      agentIds: [10411],
      responsibleAgentId: 10411,
    });
    expect(result).toMatchObject({ chatId: expect.any(Number), replayed: true });
    const list = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${siteId}/sessions`);
    expect(list.items).toHaveLength(1);
  });

  it("each type that the client's README names is exported by the package, or is a global of the platform", () => {
    const readme = readFileSync(join(ROOT, "src/client/README.md"), "utf8").replaceAll(/^```.*?^```$/gms, "");
    const named = [...readme.matchAll(/`(?:new )?([A-Z]\w*[a-z]\w*)\b[^`-]*`/g)].map(([, name = ""]) => name);
    const own = [...new Set(named)].filter((name) => !(name in globalThis));
    expect(own).toEqual(expect.arrayContaining(["NewSession", "AddedAgents", "SessionErased", "AgentSessionError"]));
    const source = `export type { ${own.join(", ")} } from "@agent-session/client";\n`;
    writeFileSync(join(folder, "elsewhere/named.ts"), source);
    compile("NodeNext", ["--noEmit", "--target", "ES2022", "named.ts"]);
  });

  it("the client's README explains each code of its errors, and no other", () => {
    const [, errors = "", events = ""] = readFileSync(join(ROOT, "src/client/README.md"), "utf8").split(
      /^\| `code` \|.*$/m,
    );
    const codesOf = (text: string) =>
      [...text.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)].flatMap(([, codes = ""]) => codes.match(/\w+/g) ?? []);
    const objectOf = (codes: string[]) => JSON.stringify(Object.fromEntries(codes.map((code) => [code, 1])));
    const source = [
      'import type { AgentSessionErrorCode, EventVerificationErrorCode } from "@agent-session/client";',
      `export const errors: Record<AgentSessionErrorCode, 1> = ${objectOf(codesOf(errors))};`,
      `export const events: Record<EventVerificationErrorCode, 1> = ${objectOf(codesOf(events))};`,
    ];
    writeFileSync(join(folder, "elsewhere/codes.ts"), source.join("\n"));
    compile("NodeNext", ["--noEmit", "--target", "ES2022", "codes.ts"]);
  });

  it("each program of the client's README, and of the page on receiving that uses the client, compiles", () => {
    const pages = ["src/client/README.md", "docs/receiving.md"].map((page) => readFileSync(join(ROOT, page), "utf8"));
    const programs = pages.flatMap((page) =>
      [...page.matchAll(/^```ts\n(.*?)^```$/gms)]
        .map(([, code = ""]) => code)
        .filter((code) => !/"(express|fastify)"/.test(code)),
    );
    expect(programs).toHaveLength(6);
    const given = [
      'import { AgentSessionClient, type NewSession } from "@agent-session/client";',
      "declare const client: AgentSessionClient, session: NewSession, chatId: number;",
    ];
    const files = programs.map((code, index) => {
      const name = `readme-${index}.ts`;
      const isOption = code.startsWith("fetch: ");
      const whole = isOption
        ? `export const options: Pick<ConstructorParameters<typeof AgentSessionClient>[0], "fetch"> = { ${code} };`
        : code;
      const receives =
        "declare const request: Request; declare function enqueue(id: string, chatId: number): Promise<void>;";
      const before = /^import /m.test(code) ? [code.includes("enqueue(") ? receives : ""] : given;
      writeFileSync(join(folder, "elsewhere", name), [...before, whole].join("\n"));
      return name;
    });
    compile("NodeNext", ["--noEmit", "--target", "ES2022", ...files], PLATFORMS["Node's"].options);
  });

  it("the README in the client package links only to whole addresses and to its own headings", () => {
    const readme = readFileSync(join(folder, "elsewhere/node_modules/@agent-session/client/README.md"), "utf8");
    const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => link.startsWith("https://")).length).toBeGreaterThan(2);
    expect(links.filter((link) => !/^(#|https:\/\/github\.com\/)/.test(link))).toEqual([]);
  });

  it("publint and attw approve the client package as a package of modules", () => {
    tool("publint/src/cli.js", [tarball, "--strict"]);
    tool("@arethetypeswrong/cli/dist/index.js", [tarball, "--profile", "esm-only"]);
  });

  it.each(NODES)("the client package works in plain Node: %s", async (node) => {
    const { siteId, ...app } = await target();
    const arguments_ = ["main.js", JSON.stringify(app)];
    // The call must not block, because this process serves the Worker under test.
    const { stdout } = await promisify(execFile)(node, arguments_, { cwd: join(folder, "elsewhere"), timeout: 30_000 });
    const result = JSON.parse(stdout);
    expect(result).toEqual(USED);
    await expectStored(siteId, result.chatId);
  });

  it("the client package works in a bundled Worker without Node's modules", async () => {
    const caller = createTestHarness({
      root: join(folder, "elsewhere"),
      workers: [{ config: { name: "caller", main: "worker.js", compatibility_date: "2025-01-01" } }],
    });
    try {
      const { url } = await caller.listen();
      const { siteId, ...app } = await target();
      const answer = await fetch(url.href, { method: "POST", body: JSON.stringify(app) });
      const result = (await answer.json()) as { chatId: number };
      expect(result).toEqual(USED);
      await expectStored(siteId, result.chatId);
    } finally {
      await caller.close();
    }
  });
});
