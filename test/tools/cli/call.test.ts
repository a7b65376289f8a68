import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../../src/tools/cli/call.ts";
import { hmacOf, Listener } from "../../support/listener.ts";
import { run, runCli } from "../../support/run-cli.ts";
import { runMain } from "../../support/run-main.ts";

const SECRET = "keep-this-on-your-server";
const APP = ["--appid", "my-shop", "--secret", SECRET];

let listener: Listener;
let folder: string;

beforeEach(async () => {
  listener = await Listener.start();
  folder = mkdtempSync(join(tmpdir(), "call-test-"));
});

afterEach(async () => {
  await listener.close();
  rmSync(folder, { recursive: true });
});

const call = (...args: string[]) => runMain(main, [...args, "--url", listener.url]);

describe("sending", () => {
  it("npm run call adds missing fields, signs the bytes that it sends, and prints the envelope as its last line", async () => {
    listener.answer.headers = { "x-request-id": "request-1", "idempotency-replayed": "true" };
    const before = Math.floor(Date.now() / 1000);
    const { exitCode, stdout, stderr } = await call("create_gd", '{"sbs":12345678901234567890}', ...APP);

    const { method, path, headers, body } = listener.only();
    expect([method, path, headers["content-type"]]).toEqual(["POST", "/openapi/chat/create_gd", "application/json"]);
    expect(headers["x-chat-signature"]).toBe(hmacOf(SECRET, body));
    expect(headers["idempotency-key"]).toBeUndefined();
    expect(body.toString()).toMatch(
      /^\{"appid":"my-shop","timestamp":\d{10},"ranstr":"[0-9a-f-]{36}","sbs":12345678901234567890\}$/,
    );
    const { timestamp } = JSON.parse(body.toString());
    expect(timestamp).toBeGreaterThanOrEqual(before);
    expect(timestamp).toBeLessThanOrEqual(Date.now() / 1000);

    expect(stderr).toBe("");
    expect(stdout).toMatch(/^status +200$/m);
    expect(stdout).toMatch(/^x-request-id +request-1$/m);
    expect(stdout).toMatch(/^idempotency-replayed +true$/m);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(listener.answer.body);
    expect(stdout).not.toContain(SECRET);
    expect(exitCode).toBe(0);
  });

  it("npm run call exits 1 and prints the reason when the call is refused", async () => {
    const body = '{"code":-1,"msg":"参数错误","data":""}';
    listener.answer = { status: 400, headers: { "x-error-detail": "sbs: is required" }, body };
    const { exitCode, stdout } = await call("add_kf", "{}", ...APP);
    expect(listener.only().path).toBe("/openapi/chat/add_kf");
    expect(stdout).toMatch(/^status +400$/m);
    expect(stdout).toMatch(/^x-error-detail +sbs: is required$/m);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(body);
    expect(exitCode).toBe(1);
  });

  it("npm run call exits 1 for a refusal with status 200, and for an answer that is not an envelope", async () => {
    listener.answer.body = '{"code":-1,"msg":"参数错误","data":""}';
    expect((await call("create_gd", "{}", ...APP)).exitCode).toBe(1);
    listener.answer.body = "<html>";
    const { exitCode, stderr } = await call("create_gd", "{}", ...APP);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("not an answer of this service");
  });

  it("npm run call reads the app, the secret and the address from the environment, and the body from a file", async () => {
    const file = join(folder, "body.json");
    writeFileSync(file, '{"content":"it\'s"}\n');
    const env = { APPID: "from-env", SECRET: "env-secret", BASE_URL: `${listener.url}/` };
    expect((await runMain(main, ["create_gd", `@${file}`], { env })).exitCode).toBe(0);
    const { body, headers, path } = listener.only();
    expect(path).toBe("/openapi/chat/create_gd");
    expect(JSON.parse(body.toString())).toMatchObject({ appid: "from-env", content: "it's" });
    expect(headers["x-chat-signature"]).toBe(hmacOf("env-secret", body));
  });

  it("npm run call signs and sends a raw body from standard input byte for byte, with the Idempotency-Key", async () => {
    const bytes = Buffer.from([0x7b, 0xff, 0x00, 0x0a, 0x20]);
    const args = ["create_gd", "-", "--raw", "--secret", SECRET, "--idempotency-key", "order 7", "--url", listener.url];
    expect((await runCli("call", args, { input: bytes })).exitCode).toBe(0);
    const { body, headers } = listener.only();
    expect(body.equals(bytes)).toBe(true);
    expect(headers["x-chat-signature"]).toBe(hmacOf(SECRET, bytes));
    expect(headers["idempotency-key"]).toBe("order 7");
  });

  it('npm run call exits 2 and explains the "--" when npm kept options for itself', async () => {
    const args = ["create_gd", "--secret", SECRET, "--sbs=customer_001", "--sbs_mc=Wang Wei", "--print-curl", "{}"];
    const env = { BASE_URL: listener.url, APPID: "my-shop" };
    const { exitCode, stdout, stderr } = await run("npm", ["run", "--silent", "call", ...args], { env });
    const options = "--secret, --print-curl, --sbs, --sbs_mc";
    expect(stderr).toContain(`npm kept ${options} for itself. Options stand after "--": npm run call -- create_gd …`);
    expect(stderr).not.toContain(SECRET);
    expect([exitCode, stdout, listener.received]).toEqual([2, "", []]);
  });

  it.each([
    [{ npm_config_appid: "my-shop", npm_config_secret: SECRET }, "--appid, --secret"],
    [{ npm_config_raw: "true" }, "--raw"],
    [{ npm_config_idempotency_key: "order 7" }, "--idempotency-key"],
  ])("npm run call sends nothing when npm kept options for itself: %j", async (variables, options) => {
    const env = { BASE_URL: listener.url, APPID: "my-shop", SECRET, ...variables };
    const { exitCode, stdout, stderr } = await runMain(main, ["create_gd", "{}"], { env });
    expect(stderr).toContain(`npm kept ${options} for itself.`);
    expect(stderr).not.toContain(SECRET);
    expect([exitCode, stdout, listener.received]).toEqual([2, "", []]);
  });

  it.each([
    { args: ["create_gd", "{}", "--secret", SECRET], says: "appid is missing" },
    { args: ["create_gd", "{}", "--appid", "a"], says: "secret is missing" },
    { args: ["delete_gd", "{}", ...APP], says: '"delete_gd" is no operation. It is create_gd' },
    { args: [...APP], says: "Which operation? create_gd" },
    { args: ["create_gd", ...APP], says: "body is missing" },
    { args: ["create_gd", "{sbs:1}", ...APP], says: "not JSON" },
    { args: ["create_gd", "[]", ...APP], says: "not a JSON object" },
    { args: ["create_gd", "{}", "{}", ...APP], says: "One body" },
    { args: ["create_gd", "@/no/such/file", ...APP], says: "/no/such/file" },
    { args: ["create_gd", "{}", ...APP, "--sekret", "x"], says: "--sekret" },
    { args: ["create_gd", "{}", ...APP, "--url", "localhost:8787"], says: '"localhost:8787"' },
  ])("npm run call exits 2 and sends nothing when it is called wrongly: $says", async ({ args, says }) => {
    const env = { BASE_URL: listener.url };
    const { exitCode, stderr } = await runMain(main, args, { env });
    expect(stderr).toContain(says);
    expect(exitCode).toBe(2);
    expect(listener.received).toEqual([]);
  });

  it("npm run call names the address when nothing answers there", async () => {
    const { url } = listener;
    await listener.close();
    const { exitCode, stderr } = await runMain(main, ["create_gd", "{}", ...APP, "--url", url]);
    expect(stderr).toContain(`No answer from ${url}: `);
    expect(stderr).toContain("ECONNREFUSED");
    expect(exitCode).toBe(1);
    listener = await Listener.start();
  });
});

describe("printing a command", () => {
  const bodies = {
    "a plain body": '{"sbs":"a"}',
    "single quotes": `{"content":"it's '' \\u0027 what's'"}`,
    "what shells expand": '{"content":"$HOME `id` $(id) \\\\ !! %s \\n \\" * ~"}',
    "line breaks": '{\n\t"content":"ä 你好 😀"\n}',
    "a leading @": "@/etc/hostname",
    "a control character": '{"content":"\u001b[31m\r"}',
    nothing: "",
  };

  it.each(Object.entries(bodies))(
    "npm run call --print-curl prints a command that sends %s signed",
    async (_, body) => {
      const file = join(folder, "body");
      writeFileSync(file, body);
      const args = [`@${file}`, "--raw", "--print-curl", "--idempotency-key", "it's"];
      const { exitCode, stdout } = await call("create_gd", ...args, ...APP);
      expect([exitCode, listener.received]).toEqual([0, []]);
      await expectToSend(stdout, Buffer.from(body));
      expect(listener.only().headers["idempotency-key"]).toBe("it's");
    },
  );

  it("npm run call --print-curl prints a command for bytes that are not text, and for a body too long for an argument", async () => {
    const file = join(folder, "body");
    for (const bytes of [Buffer.from([0, 1, 0x27, 0xff, 0x25]), Buffer.alloc(150_000, "x")]) {
      writeFileSync(file, bytes);
      const { stdout } = await call("create_gd", `@${file}`, "--raw", "--print-curl", ...APP);
      listener.received.length = 0;
      await expectToSend(stdout, bytes);
    }
  });

  it("npm run call --print-curl adds missing fields before it signs, and does not show the secret", async () => {
    const { stdout } = await call("add_kf", '{"chat_id":1}', "--print-curl", ...APP);
    expect(stdout).not.toContain(SECRET);
    expect((await run("sh", [], { input: stdout })).exitCode).toBe(0);
    const { body, headers, path } = listener.only();
    expect(path).toBe("/openapi/chat/add_kf");
    expect(JSON.parse(body.toString())).toMatchObject({ appid: "my-shop", chat_id: 1 });
    expect(headers["x-chat-signature"]).toBe(hmacOf(SECRET, body));
  });

  /** Runs the printed command in a plain shell, and compares the request that arrives. */
  async function expectToSend(command: string, bytes: Buffer) {
    const { exitCode, stdout, stderr } = await run("sh", [], { input: command });
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(listener.answer.body);
    const { method, headers, body } = listener.only();
    expect(method).toBe("POST");
    expect(body.equals(bytes)).toBe(true);
    expect(headers["content-type"]).toBe("application/json");
    expect(headers["x-chat-signature"]).toBe(hmacOf(SECRET, bytes));
  }
});
