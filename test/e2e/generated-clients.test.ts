import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";

/** Integrators generate clients from openapi.json. The clients of the two most used generators must compile and work. */

/** The commands and the code of docs/integrating.md, "A generated client". */
const [, SECTION = ""] =
  /^### A generated client\n(.*?)^## /ms.exec(
    readFileSync(join(import.meta.dirname, "../../docs/integrating.md"), "utf8"),
  ) ?? [];

/** The block of code in one language that has a text. */
function printed(language: string, text: string): string {
  const blocks = [...SECTION.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  const [, , code] = blocks.find(([, of, block = ""]) => of === language && block.includes(text)) ?? [];
  if (code === undefined) throw new Error(`docs/integrating.md has no ${language} with ${text}`);
  return code;
}

const execute = promisify(execFile);

const ROOT = join(import.meta.dirname, "../..");
const BASE_URL = "https://sessions.example.com";
const TOOLS = join(ROOT, "test/generated-clients/node_modules");
const DOCUMENT = join(ROOT, "src/assets/openapi.json");

/** Signs each request of a generated client when it is sent, because the client itself makes the bytes. */
const SIGN = `
export async function signed(secret: string, request: Request): Promise<Request> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, await request.clone().arrayBuffer()));
  request.headers.set("x-chat-signature", Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join(""));
  return request;
}

export interface Target { baseUrl: string; appid: string; secret: string; adminToken: string; siteId: number }
export const stamp = (appid: string) => ({ appid, timestamp: Math.floor(Date.now() / 1000), ranstr: crypto.randomUUID() });
`;

/** Each program creates with the required fields only, rotates without an overlap, and reads answers, lists and refusals. */
const PROGRAMS = {
  "openapi-typescript": `
import type { components, operations, paths } from "./generated.ts";
import { signed, stamp, type Target } from "./sign.ts";

type NewSession = components["schemas"]["CreateSession"];
type Rotation = components["schemas"]["Rotation"];
type Answer<Name extends keyof operations, Status extends keyof operations[Name]["responses"]> =
  operations[Name]["responses"][Status] extends { content: Record<string, infer Body> } ? Body : never;

export async function use({ baseUrl, appid, secret, adminToken, siteId }: Target) {
  const send = async <Body>(method: string, path: string, body?: object, signing?: string): Promise<Body> => {
    const request = new Request(baseUrl + path, {
      method,
      headers: { "content-type": "application/json", authorization: \`Bearer \${adminToken}\` },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const answer = await fetch(signing === undefined ? request : await signed(signing, request));
    return (await answer.json()) as Body;
  };
  const create: keyof paths = "/openapi/chat/create_gd";
  const session: NewSession = {
    ...stamp(appid),
    sbs: 1001,
    ip: "203.0.113.7",
    sbs_mc: "Wang Wei",
    content: "Where is my order?",
    kefu_id: [10411],
    fzr_uid: 10411,
  };
  const created = await send<Answer<"createSession", 200>>("POST", create, session, secret);
  const chatId: number = created.data.chat_id;
  const refused = await send<Answer<"createSession", 401>>("POST", create, session, secret);
  const message: "token验证失败!" = refused.msg;
  const nothing: Rotation = {};
  const details: components["schemas"]["AuditEntry"]["details"] = { any: "thing" };
  const rotated = await send<Answer<"rotateSecret", 200>>("POST", \`/admin/apps/\${appid}/rotate\`, nothing);
  const added: components["schemas"]["AddAgents"] = { ...stamp(appid), chat_id: chatId, kefu_ids: "10427" };
  const { data }: Answer<"addAgents", 200> = await send("POST", "/openapi/chat/add_kf", added, rotated.secret);
  const page = await send<Answer<"listSessions", 200>>("GET", \`/admin/sites/\${siteId}/sessions\`);
  const first: components["schemas"]["SessionSummary"] | undefined = page.items[0];
  const problem = await send<Answer<"createSite", 400>>("POST", "/admin/sites", details);
  return { chatId, message, data, listed: first?.chat_id, next: page.next_cursor, field: problem.errors[0]?.field };
}
`,
  "@hey-api/openapi-ts": `
import { createClient } from "./generated/client/index.ts";
import { addAgents, createSession, createSite, listSessions, rotateSecret, type NewSite, type SessionSummary } from "./generated/index.ts";
import { signed, stamp, type Target } from "./sign.ts";

export async function use({ baseUrl, appid, secret, adminToken, siteId }: Target) {
  let signing = secret;
  const app = createClient({ baseUrl });
  app.interceptors.request.use((request) => signed(signing, request));
  const operator = createClient({ baseUrl, auth: () => adminToken });
  const body = {
    ...stamp(appid),
    sbs: 1001,
    ip: "203.0.113.7",
    sbs_mc: "Wang Wei",
    content: "Where is my order?",
    kefu_id: [10411],
    fzr_uid: 10411,
  };
  const created = await createSession({ client: app, body, throwOnError: true });
  const chatId: number = created.data.data.chat_id;
  const { error } = await createSession({ client: app, body });
  const message: string | undefined = error?.msg;
  const rotated = await rotateSecret({ client: operator, path: { appid }, throwOnError: true });
  const again = await rotateSecret({ client: operator, path: { appid }, body: { ends: "previous" }, throwOnError: true });
  if (again.data.secret === rotated.data.secret) throw new Error("rotated twice, one secret");
  signing = again.data.secret;
  const added = await addAgents({ client: app, body: { ...stamp(appid), chat_id: chatId, kefu_ids: [10427] }, throwOnError: true });
  const page = await listSessions({ client: operator, path: { site_id: siteId }, throwOnError: true });
  const first: SessionSummary | undefined = page.data.items[0];
  const bad = await createSite({ client: operator, body: {} as NewSite });
  const field = bad.error !== undefined && "errors" in bad.error ? bad.error.errors[0]?.field : undefined;
  return { chatId, message, data: added.data.data, listed: first?.chat_id, next: page.data.next_cursor, field };
}
`,
};

const TSCONFIG = {
  compilerOptions: {
    target: "ES2022",
    lib: ["ES2022", "DOM", "DOM.Iterable"],
    module: "NodeNext",
    strict: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    noEmit: true,
  },
  files: ["use.ts"],
};

let folder: string;
let worker: BuiltWorker;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "generated-clients-"));
  await execute(process.execPath, ["src/tools/cli/build-docs.ts"], { cwd: ROOT });
  worker = await startBuiltWorker();
});
afterAll(async () => {
  await worker?.close();
  rmSync(folder, { recursive: true, force: true });
});

const GENERATE = {
  "openapi-typescript": (into: string) =>
    run("openapi-typescript/bin/cli.js", [DOCUMENT, "--output", join(into, "generated.ts")], into),
  "@hey-api/openapi-ts": (into: string) => {
    // All settings are the defaults except the extension, because node runs the result without a bundler.
    const output = { path: join(into, "generated"), module: { extension: ".ts" } };
    const config = { input: DOCUMENT, output, logs: { file: false } };
    writeFileSync(join(into, "openapi-ts.config.mjs"), `export default ${JSON.stringify(config)};\n`);
    return run("@hey-api/openapi-ts/bin/run.js", ["--file", join(into, "openapi-ts.config.mjs")], into);
  },
};

/** Makes a folder with the files of a program that `use.ts` is a part of. */
function programFolder(name: string, use: string, types: string[]): string {
  const place = join(folder, name.replace(/\W/g, "_"));
  mkdirSync(place);
  writeFileSync(join(place, "package.json"), '{"private":true,"type":"module"}');
  const compilerOptions = { ...TSCONFIG.compilerOptions, types };
  writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ ...TSCONFIG, compilerOptions }));
  writeFileSync(join(place, "sign.ts"), SIGN);
  writeFileSync(join(place, "use.ts"), use.replaceAll(BASE_URL, worker.url));
  writeFileSync(
    join(place, "main.ts"),
    'import { use } from "./use.ts";\nconsole.log(JSON.stringify(await use(JSON.parse(process.argv[2] ?? ""))));\n',
  );
  return place;
}

describe.each(Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])(
  "the client that %s makes of openapi.json",
  (tool) => {
    let place: string;
    beforeAll(async () => {
      place = programFolder(tool, PROGRAMS[tool], []);
      expect(await GENERATE[tool](place)).toBe("");
    });

    it("a generated client compiles with a program that creates, rotates without an overlap and reads the answers", async () => {
      expect(await run("typescript/bin/tsc", ["-p", place], place)).toBe("");
    });

    it("a generated client makes its calls against the real service", async () => {
      const { siteId, appid, secret } = await worker.provision([10411, 10427]);
      const target = { baseUrl: worker.url, appid, secret, siteId, adminToken: worker.adminToken };
      const { stdout } = await execute(process.execPath, ["main.ts", JSON.stringify(target)], {
        cwd: place,
      });
      const result = JSON.parse(stdout) as { chatId: number };
      expect(result).toEqual({
        chatId: expect.any(Number),
        message: "token验证失败!",
        data: "",
        listed: result.chatId,
        next: null,
        field: "name",
      });
      expect(await worker.admin("GET", `/admin/sites/${siteId}/sessions/${result.chatId}`)).toMatchObject({
        customer: { sbs: "1001", name: "Wang Wei" },
        messages: [{ sender: "agent", sender_uid: 10411 }],
        participants: [{ agent_id: 10427 }],
      });
    });
  },
);

/** The first call of a recipe, with characters that a client may escape. */
const BODY = `{ ...stamp(appid), sbs: "1001", ip: "203.0.113.7", sbs_mc: "王伟", content: "a < b", kefu_id: [10411], fzr_uid: 10411 }`;

const RECIPES = {
  "openapi-fetch": () => `
${printed("ts", 'from "openapi-fetch"')}
import type { components } from "./agent-session.ts";
import { stamp, type Target } from "./sign.ts";

export async function use({ appid }: Target) {
  const body: components["schemas"]["CreateSession"] = ${BODY};
  const created: components["schemas"]["CreateSessionSuccess"] | undefined = (await client.POST("/openapi/chat/create_gd", { body })).data;
  const refused: components["schemas"]["Failure"] | undefined = (await client.POST("/openapi/chat/create_gd", { body })).error;
  const chat_id = created?.data.chat_id ?? 0;
  const added = await client.POST("/openapi/chat/add_kf", { body: { ...stamp(appid), chat_id, kefu_ids: "10427" } });
  return { chatId: chat_id, message: refused?.msg, data: added.data?.data };
}
`,
  "openapi-ts": () => `
${printed("ts", "client.gen.ts")}
import { addAgents, type CreateSession, type CreateSessionSuccess, type Failure } from "./agent-session/index.ts";
import { stamp, type Target } from "./sign.ts";

export async function use({ appid }: Target) {
  const body: CreateSession = ${BODY};
  const created: CreateSessionSuccess | undefined = (await createSession({ body })).data;
  const refused: Failure | undefined = (await createSession({ body })).error;
  const chat_id = created?.data.chat_id ?? 0;
  const added = await addAgents({ body: { ...stamp(appid), chat_id, kefu_ids: "10427" } });
  return { chatId: chat_id, message: refused?.msg, data: added.data?.data };
}
`,
};

const BINS: Record<string, string> = {
  "openapi-typescript": "openapi-typescript/bin/cli.js",
  "openapi-ts": "@hey-api/openapi-ts/bin/run.js",
};

/** Runs the `npx` line of a block as if its packages had been downloaded. They are those of test/generated-clients. */
async function runPrinted(block: string, cwd: string): Promise<string> {
  const { devDependencies } = JSON.parse(readFileSync(join(TOOLS, "../package.json"), "utf8"));
  const [, packages = "", bin = "", args = ""] = /^npx ((?:-p \S+ )+)(\S+)(.*)$/m.exec(block) ?? [];
  const pinned = [...packages.matchAll(/-p (\S+)@(\S+)/g)].map(([, name = "", version]) => [name, version]);
  expect(pinned).toEqual(pinned.map(([name = ""]) => [name, devDependencies[name]]));
  return run(BINS[bin] ?? "", args.replaceAll(BASE_URL, worker.url).trim().split(" ").filter(Boolean), cwd);
}

describe.each(Object.keys(RECIPES) as (keyof typeof RECIPES)[])("the recipe with %s in docs/integrating.md", (tool) => {
  let place: string;
  beforeAll(async () => {
    place = programFolder(`recipe ${tool}`, RECIPES[tool](), ["node"]);
    // These are the integrator's packages, and the types of node.
    const { resolve } = createRequire(join(TOOLS, "../package.json"));
    mkdirSync(join(place, "node_modules/@types"), { recursive: true });
    symlinkSync(join(dirname(resolve("openapi-fetch")), ".."), join(place, "node_modules/openapi-fetch"));
    symlinkSync(join(ROOT, "node_modules/@types/node"), join(place, "node_modules/@types/node"));
    const config = printed("js", "export default").replaceAll(BASE_URL, worker.url);
    if (tool === "openapi-ts") writeFileSync(join(place, "openapi-ts.config.mjs"), config);
    const block = printed("sh", tool === "openapi-ts" ? "@hey-api/openapi-ts" : "openapi-fetch");
    expect(await runPrinted(block, place)).toBe("");
  });

  it.each([
    ["5", TOOLS],
    ["7", join(ROOT, "node_modules")],
  ])("the code of a recipe for a generated client passes TypeScript %s", async (major, modules) => {
    const { version } = JSON.parse(readFileSync(join(modules, "typescript/package.json"), "utf8"));
    expect(version).toMatch(new RegExp(`^${major}\\.`));
    expect(await run("typescript/bin/tsc", ["-p", place], place, modules)).toBe("");
  });

  it("a client that is made by a recipe signs what it sends, and its answers have types with names", async () => {
    const { appid, secret } = await worker.provision([10411, 10427]);
    const { stdout } = await execute(process.execPath, ["main.ts", JSON.stringify({ appid })], {
      cwd: place,
      env: { ...process.env, SECRET: secret },
    });
    expect(JSON.parse(stdout)).toEqual({ chatId: expect.any(Number), message: "token验证失败!", data: "" });
  });
});

it("the Go transport of docs/integrating.md signs the bytes that it sends", async () => {
  const place = join(folder, "go");
  mkdirSync(join(place, "session"), { recursive: true });
  writeFileSync(join(place, "go.mod"), "module trial\n\ngo 1.19\n");
  writeFileSync(join(place, "session/signing.go"), printed("go", "RoundTrip"));
  writeFileSync(
    join(place, "main.go"),
    `package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"trial/session"
)

func main() {
	client := &http.Client{Transport: session.Signing{Secret: os.Args[2]}}
	answer, err := client.Post(os.Args[1], "application/json", strings.NewReader(os.Args[3]))
	if err != nil {
		panic(err)
	}
	fmt.Print(answer.StatusCode)
}
`,
  );
  const { appid, secret } = await worker.provision([10411]);
  const stamp = { appid, timestamp: Math.floor(Date.now() / 1000), ranstr: crypto.randomUUID() };
  const fields = { sbs: "1001", ip: "203.0.113.7", sbs_mc: "王伟", content: "a < b", kefu_id: [10411], fzr_uid: 10411 };
  const url = `${worker.url}/openapi/chat/create_gd`;
  const args = ["run", ".", url, secret, JSON.stringify({ ...stamp, ...fields })];
  const { stdout } = await execute("go", args, { cwd: place });
  expect(stdout).toBe("200");
});

/**
 * Runs an integrator's tool. It does not block, because this process serves the Worker and must notice closed idle connections.
 *
 * @returns the tool's output when the tool fails, otherwise an empty text
 */
async function run(bin: string, args: string[], cwd: string, modules = TOOLS): Promise<string> {
  try {
    await execute(process.execPath, [join(modules, bin), ...args], { cwd, encoding: "utf8" });
    return "";
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return `${stdout}${stderr}` || String(error);
  }
}
