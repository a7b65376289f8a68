import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";

/** Integrators generate clients from openapi.json. The clients of the two most used generators must compile and work. */

/** The lines of docs/integrating.md that make a client with openapi-fetch and sign its requests. */
const [PRINTED = ""] = [
  ...readFileSync(join(import.meta.dirname, "../../docs/integrating.md"), "utf8").matchAll(/^```ts\n(.*?)^```$/gms),
].flatMap(([, code = ""]) => (code.includes('from "openapi-fetch"') ? [code] : []));

const execute = promisify(execFile);

const ROOT = join(import.meta.dirname, "../..");
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
  // This is the client in docs/integrating.md, and calls that use it.
  "openapi-fetch": `
${PRINTED}
import { stamp, type Target } from "./sign.ts";

export async function use({ baseUrl, appid, adminToken, siteId }: Target) {
  const operator = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${adminToken}\` } });
  const body = {
    ...stamp(appid),
    sbs: "1001",
    ip: "203.0.113.7",
    sbs_mc: "Wang Wei",
    content: "Where is my order?",
    kefu_id: [10411],
    fzr_uid: 10411,
  };
  const created = await client.POST("/openapi/chat/create_gd", { body });
  if (created.data === undefined) throw new Error(JSON.stringify(created.error));
  const chatId: number = created.data.data.chat_id;
  const { error } = await client.POST("/openapi/chat/create_gd", { body });
  const message: string | undefined = error?.msg;
  const added = await client.POST("/openapi/chat/add_kf", { body: { ...stamp(appid), chat_id: chatId, kefu_ids: "10427" } });
  const page = await operator.GET("/admin/sites/{site_id}/sessions", { params: { path: { site_id: siteId } } });
  const rotated = await operator.POST("/admin/apps/{appid}/rotate", { params: { path: { appid } } });
  if (rotated.data?.secret === undefined) throw new Error(JSON.stringify(rotated.error));
  const bad = await operator.POST("/admin/sites", { body: {} as { name: string } });
  const field = bad.error !== undefined && "errors" in bad.error ? bad.error.errors[0]?.field : undefined;
  return { chatId, message, data: added.data?.data, listed: page.data?.items[0]?.chat_id, next: page.data?.next_cursor, field };
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

const typesOf = (file: string) => (into: string) =>
  run("openapi-typescript/bin/cli.js", [DOCUMENT, "--output", join(into, file)], into);

const GENERATE = {
  "openapi-typescript": typesOf("generated.ts"),
  "openapi-fetch": (into: string) => {
    // These are the integrator's packages, and the types of node.
    const { resolve } = createRequire(join(TOOLS, "../package.json"));
    mkdirSync(join(into, "node_modules/@types"), { recursive: true });
    symlinkSync(join(dirname(resolve("openapi-fetch")), ".."), join(into, "node_modules/openapi-fetch"));
    symlinkSync(join(ROOT, "node_modules/@types/node"), join(into, "node_modules/@types/node"));
    return typesOf("agent-session.ts")(into);
  },
  "@hey-api/openapi-ts": (into: string) => {
    // All settings are the defaults except the extension, because node runs the result without a bundler.
    const output = { path: join(into, "generated"), module: { extension: ".ts" } };
    const config = { input: DOCUMENT, output, logs: { file: false } };
    writeFileSync(join(into, "openapi-ts.config.mjs"), `export default ${JSON.stringify(config)};\n`);
    return run("@hey-api/openapi-ts/bin/run.js", ["--file", join(into, "openapi-ts.config.mjs")], into);
  },
};

describe.each(Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])(
  "the client that %s makes of openapi.json",
  (tool) => {
    let place: string;
    beforeAll(async () => {
      place = join(folder, tool.replace(/\W/g, "_"));
      mkdirSync(place);
      writeFileSync(join(place, "package.json"), '{"private":true,"type":"module"}');
      const types = tool === "openapi-fetch" ? ["node"] : [];
      writeFileSync(
        join(place, "tsconfig.json"),
        JSON.stringify({ ...TSCONFIG, compilerOptions: { ...TSCONFIG.compilerOptions, types } }),
      );
      writeFileSync(join(place, "sign.ts"), SIGN);
      writeFileSync(join(place, "use.ts"), PROGRAMS[tool].replace("https://sessions.example.com", worker.url));
      writeFileSync(
        join(place, "main.ts"),
        'import { use } from "./use.ts";\nconsole.log(JSON.stringify(await use(JSON.parse(process.argv[2] ?? ""))));\n',
      );
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
        env: { ...process.env, SECRET: secret },
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

/**
 * Runs an integrator's tool. It does not block, because this process serves the Worker and must notice closed idle connections.
 *
 * @returns the tool's output when the tool fails, otherwise an empty text
 */
async function run(bin: string, args: string[], cwd: string): Promise<string> {
  try {
    await execute(process.execPath, [join(TOOLS, bin), ...args], { cwd, encoding: "utf8" });
    return "";
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return `${stdout}${stderr}` || String(error);
  }
}
