import { createHash, createHmac, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../../src/tools/cli/call.ts";
import { runCli } from "../../support/run-cli.ts";
import { runMain } from "../../support/run-main.ts";

const SECRET = "keep-this-on-your-server";
const sign = (text: string, secret = SECRET) => createHmac("sha256", secret).update(text).digest("hex");
const bodyOf = (change: object = {}) =>
  JSON.stringify({
    appid: "my-shop",
    timestamp: Math.floor(Date.now() / 1000),
    ranstr: randomUUID(),
    sbs: "customer_001",
    ip: "127.0.0.1",
    sbs_mc: "王伟",
    content: "Hello",
    kefu_id: [10411],
    fzr_uid: 10411,
    ...change,
  });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "check-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const signed = (body: string, signature = sign(body)) => ["--body", body, "--signature", signature];
const creating = (body: string, signature?: string) => ["--operation", "create_gd", ...signed(body, signature)];

const check = (...args: string[]) => runMain(main, ["check", ...args], { env: { SECRET } });

describe("check", () => {
  it("npm run call -- check exits 0, says that the server accepts a right request, and names what only the server knows", async () => {
    const body = bodyOf();
    const { exitCode, stdout, stderr } = await check(...creating(body), "--content-type", "application/json");
    expect([exitCode, stderr]).toEqual([0, ""]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toBe("The server accepts this request, as far as a caller can know.");
    expect(lines[1]).toMatch(/^Not known here: Only the server knows/);
    expect(lines).toContain("Signature: Valid.");
    expect(stdout).not.toMatch(/Cause|Also/);
  });

  it("npm run call -- check reads the exact bytes of a file, names the cause first and exits 1", async () => {
    const body = bodyOf({ kefu_id: "10411" });
    const file = join(folder, "body.json");
    writeFileSync(file, `${body}\r\n`);
    const { exitCode, stdout } = await check(...creating(`@${file}`, sign(body)));
    const lines = stdout.split("\n");
    expect([exitCode, lines[0]]).toEqual([1, "The server refuses this request: 401 token验证失败!"]);
    expect(lines[1]).toMatch(/^Cause: Signature: What was sent ends with a line end, CRLF/);
    expect(lines[2]).toMatch(/^Also: Fields: kefu_id: must be an array/);
  });

  it("npm run call -- check prints the length and the SHA-256 of the body when it finds no cause", async () => {
    const body = bodyOf();
    const { stdout } = await check(...creating(body, sign("another body")));
    const digest = createHash("sha256").update(body).digest("hex");
    expect(stdout).toContain(`has ${Buffer.byteLength(body)} bytes; their SHA-256 is ${digest}.`);
  });

  it("npm run call -- check reads the body from standard input, and takes headers", async () => {
    const body = bodyOf();
    const args = ["check", "--body", "-", "--signature", `sha256=${sign(body)}`, "--secret", SECRET];
    const headers = { "content-type": "", "content-encoding": "gzip", "idempotency-key": "a b", appid: "My-Shop" };
    const more = Object.entries(headers).flatMap(([name, value]) => [`--${name}`, value]);
    const { exitCode, stdout } = await runCli("call", [...args, ...more], { input: body });
    expect([exitCode, stdout.split("\n")[0]]).toEqual([1, "The server refuses this request: 415 参数错误"]);
    expect(stdout).toMatch(/^Cause: Content-Type: The header is absent/m);
    expect(stdout).toMatch(/^Also: Content-Encoding: It is gzip/m);
    expect(stdout).toMatch(/^Also: appid: The body has "my-shop", the app is "My-Shop": upper and lower case differ/m);
    expect(stdout).toMatch(/^Also: Signature: Send the hex digits alone/m);
    expect(stdout).toMatch(/^Also: Idempotency-Key: It has a blank inside/m);
    expect(stdout).toMatch(/^Fields: Not checked: the call was not named/m);
  });

  it("npm run call -- check says what a fresh timestamp would change", async () => {
    const old = bodyOf({ timestamp: Math.floor(Date.now() / 1000) - 1_000 });
    const stale = await check(...creating(old));
    expect([stale.exitCode, stale.stdout]).toEqual([
      1,
      expect.stringContaining("\nWith a fresh timestamp it accepts it.\n"),
    ]);
    const tolerated = await check(...signed(old), "--tolerance", "2000");
    expect(tolerated.exitCode).toBe(0);
    const wrong = bodyOf({ timestamp: Math.floor(Date.now() / 1000) - 1_000, sbs: "" });
    const both = await check(...creating(wrong));
    expect(both.stdout).toContain("\nWith a fresh timestamp it refuses it too: 400 参数错误\n");
  });

  it("npm run call -- check never prints the secret", async () => {
    const body = bodyOf({ appid: SECRET.slice(0, 5) });
    for (const signature of [sign(body), sign(body, `${SECRET}\n`), sign(`${body}${SECRET}`), "", "x"]) {
      const { stdout, stderr } = await check(...creating(body, signature));
      expect(stdout + stderr).not.toContain(SECRET);
    }
  });

  it("npm run call -- check does not print a secret that stands in the wrong place", async () => {
    const body = bodyOf({ appid: SECRET, [SECRET]: 1 });
    const callArgs = creating(body);
    for (const args of [callArgs, [...callArgs, "--appid", "my-shop"], [SECRET, ...callArgs]]) {
      const { stdout, stderr } = await check(...args);
      expect(stdout + stderr).not.toContain(SECRET);
    }
  });

  it("npm run call -- check says that the secret begins or ends with a blank, and only when it does", async () => {
    const body = bodyOf();
    const blank = await check(...signed(body, sign(body, `${SECRET} `)), "--secret", `${SECRET} `);
    expect(blank.stdout.split("\n")[1]).toMatch(/^The secret given begins or ends with a blank/);
    expect((await check(...signed(body))).stdout).not.toContain("The secret given");
  });

  it("an empty --tolerance of npm run call -- check means the usual tolerance", async () => {
    const body = bodyOf({ timestamp: Math.floor(Date.now() / 1000) - 100 });
    expect((await check(...signed(body), "--tolerance", "")).exitCode).toBe(0);
  });

  it.each([
    { args: [], says: "body is missing" },
    { args: ["--body", "{}"], says: "signature is missing" },
    { args: ["--body", "{}", "--signature", "", "--operation", "delete_gd"], says: '"delete_gd" is no operation' },
    { args: ["--body", "{}", "--signature", "", "--tolerance", "x"], says: '--tolerance "x"' },
    { args: ["--body", "@/no/such/file", "--signature", ""], says: "/no/such/file" },
    { args: ["create_gd", "--body", "{}", "--signature", ""], says: "Something else is left over" },
    { args: ["--body", "{}", "--signature", "", "--secret", ""], says: "secret is missing" },
  ])("npm run call -- check exits 2 when it is called wrongly: $says", async ({ args, says }) => {
    const { exitCode, stderr, stdout } = await check(...args);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(says);
  });

  it("npm run call -- check has a --help, which the --help of npm run call names", async () => {
    expect((await check("--help")).stdout).toContain("--content-encoding");
    expect((await runMain(main, ["--help"])).stdout).toContain("npm run call -- check --help");
  });
});
