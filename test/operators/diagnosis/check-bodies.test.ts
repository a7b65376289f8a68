import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../../src/tools/cli/call.ts";
import { runMain } from "../../support/run-main.ts";

const fields = () => ({ appid: "my-shop", timestamp: 1781683144, ranstr: randomUUID() });
const creating = (change: object = {}) =>
  JSON.stringify({
    ...fields(),
    sbs: "customer_001",
    ip: "127.0.0.1",
    sbs_mc: "王伟",
    content: "Hello",
    kefu_id: [10411],
    fzr_uid: 10411,
    ...change,
  });
const adding = (change: object = {}) => JSON.stringify({ ...fields(), chat_id: 1, kefu_ids: "10427", ...change });

let file: string;
beforeEach(() => {
  file = join(mkdtempSync(join(tmpdir(), "bodies-test-")), "bodies.ndjson");
});
afterEach(() => rmSync(join(file, ".."), { recursive: true }));

/** Checks a file with these lines. */
function checkLines(lines: readonly string[], ...args: string[]) {
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  return runMain(main, ["check", "--bodies", file, ...args]);
}

/** What is said of each text of x-error-detail: `LINES FIRST DETAIL`. */
const refusalsOf = (stdout: string) =>
  stdout
    .split("\n")
    .filter((line) => /^ +\d/.test(line))
    .map((line) => line.trim().replaceAll(/ {2,}/g, " "));

describe("check --bodies", () => {
  it("npm run call -- check --bodies exits 0 when the service would refuse none of the bodies, however old they are", async () => {
    const { exitCode, stdout, stderr } = await checkLines([creating(), creating({ sender_type: 1 }), adding()]);
    expect([exitCode, stdout, stderr]).toEqual([0, "3 of 3 bodies pass.\n", ""]);
  });

  it("npm run call -- check --bodies counts the lines of each x-error-detail, and names the first of them", async () => {
    const lines = [creating({ ip: "" }), creating({ title: "" }), creating(), creating({ title: "", sbs_mc: "" })];
    const { exitCode, stdout } = await checkLines(lines);
    expect([exitCode, stdout.split("\n")[0]]).toEqual([1, "1 of 4 bodies pass."]);
    expect(refusalsOf(stdout)).toEqual([
      "2 2 title: must be a string of 1 to 120 characters, or left out",
      "1 1 ip: must be one IPv4 or IPv6 address, without port, brackets or blanks",
      "1 4 sbs_mc: must be a string of 1 to 30 characters",
    ]);
  });

  it.each([
    { line: creating({ ip: "" }), detail: "ip: must be one IPv4 or IPv6 address, without port, brackets or blanks" },
    { line: creating({ title: null }), detail: "title: must be a string of 1 to 120 characters, or left out" },
    {
      line: creating({ kefu_id: ["10411"] }),
      detail: "kefu_id: item 1 must be an integer from 1 to 9007199254740991, not a string",
    },
    {
      line: creating({ timestamp: "1781683144" }),
      detail: "timestamp: must be an integer, Unix seconds, not a string",
    },
    { line: creating({ ranstr: "" }), detail: "ranstr: must be a string of 1 to 128 characters" },
    { line: adding({ chat_id: "1" }), detail: "chat_id: must be an integer, not a string" },
    { line: adding({ kefu_ids: "" }), detail: "kefu_ids: must be 1 to 100 agent ids" },
    { line: "Hello", detail: "body: must be JSON as a library writes it" },
    { line: "[]", detail: "body: must be a JSON object, not an array" },
    { line: `\ufeff${creating()}`, detail: "body: must have no byte order mark" },
    { line: creating({ content: "x".repeat(65_536) }), detail: "body: must be at most 65536 bytes" },
    { line: creating({ appid: undefined }), detail: "appid: is required" },
  ])("npm run call -- check --bodies says what the service refuses: $detail", async ({ line, detail }) => {
    const { exitCode, stdout } = await checkLines([creating(), line]);
    expect(exitCode).toBe(1);
    expect(refusalsOf(stdout)[0]).toContain(`1 2 ${detail}`);
  });

  it("npm run call -- check --bodies refuses a timestamp that is ahead of now, such as milliseconds", async () => {
    const { exitCode, stdout } = await checkLines([creating({ timestamp: 1781683144000 })]);
    expect(exitCode).toBe(1);
    expect(refusalsOf(stdout)[0]).toMatch(/^1 1 timestamp: must be within 300 s of \d{10}, .*, not milliseconds$/);
  });

  it("npm run call -- check --bodies reads sbs with all its digits", async () => {
    const line = creating({ sbs: 7 }).replace('"sbs":7', '"sbs":12345678901234567890');
    expect((await checkLines([line, line.replace("890,", "890.5,")])).stdout).toContain("1 of 2 bodies pass.");
  });

  it("npm run call -- check --bodies refuses a ranstr that an app uses again within 31 minutes", async () => {
    const used = { ranstr: "the same ranstr of an app" };
    const lines = [
      creating(used),
      adding({ ...used, timestamp: 1781683144 + 1860 }),
      adding({ ...used, timestamp: 1781683144 + 1860 + 1861 }),
      creating({ ...used, appid: "another" }),
    ];
    expect(refusalsOf((await checkLines(lines)).stdout)).toEqual(["1 2 ranstr: was already used"]);
  });

  it("npm run call -- check --bodies names a ranstr of less than 16 characters, and accepts it", async () => {
    const { exitCode, stdout } = await checkLines([creating({ ranstr: "x".repeat(15) }), creating()]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("\n1 of them has a ranstr of less than 16 characters.");
    expect((await checkLines([creating({ ranstr: "x".repeat(16) })])).stdout).not.toContain("less than");
  });

  it("npm run call -- check --bodies checks a body as the call that has its fields, or as --operation says", async () => {
    expect((await checkLines([creating(), adding()])).exitCode).toBe(0);
    const { exitCode, stdout } = await checkLines([creating()], "--operation", "add_kf");
    expect(exitCode).toBe(1);
    expect(refusalsOf(stdout)).toEqual(["1 1 chat_id: is required", "1 1 kefu_ids: is required"]);
  });

  it("npm run call -- check --bodies takes a CR, an empty line and a mark at the start of the file for no part of a body, and counts their lines", async () => {
    writeFileSync(file, `\ufeff${creating()}\r\n\r\n${creating({ ip: "" })}\r\n${creating()}`);
    const { stdout } = await runMain(main, ["check", "--bodies", file]);
    expect(stdout.split("\n")[0]).toBe("2 of 3 bodies pass.");
    expect(refusalsOf(stdout)[0]).toMatch(/^1 3 ip: /);
  });

  it("npm run call -- check --bodies says that a file is in UTF-16", async () => {
    const input = Buffer.from(`\ufeff${creating()}\r\n${creating()}\r\n`, "utf16le");
    const { stdout } = await runMain(main, ["check", "--bodies", "-"], { input });
    expect(refusalsOf(stdout)[0]).toBe("2 1 body: must be UTF-8, not UTF-16");
  });

  it("npm run call -- check --bodies takes @FILE for FILE, because --body does", async () => {
    writeFileSync(file, creating());
    expect((await runMain(main, ["check", "--bodies", `@${file}`])).exitCode).toBe(0);
  });

  it("npm run call -- check --bodies reads standard input, and one body alone", async () => {
    const { exitCode, stdout } = await runMain(main, ["check", "--bodies", "-"], { input: creating() });
    expect([exitCode, stdout]).toEqual([0, "1 of 1 body passes.\n"]);
  });

  it("npm run call -- check --bodies prints no value of the bodies", async () => {
    const value = "SECRETVALUE";
    const wrong = Object.keys(JSON.parse(creating())).map((name) => creating({ [name]: { [value]: value } }));
    const lines = [
      ...wrong,
      adding({ kefu_ids: value }),
      `{"${value}`,
      `"${value}"`,
      creating({ metadata: { [value]: 1 } }),
    ];
    const { exitCode, stdout, stderr } = await checkLines(lines);
    expect(exitCode).toBe(1);
    expect(stdout + stderr).not.toContain(value);
  });

  it.each(["docs/switching.md", "docs/zh/switching.md"])(
    "%s shows what npm run call -- check --bodies says of the bodies that it shows",
    async (path) => {
      const page = readFileSync(join(import.meta.dirname, "../../..", path), "utf8");
      const input = /<<'END'\n(.*?)END\n/s.exec(page)?.[1] ?? "";
      const { stdout } = await runMain(main, ["check", "--bodies", "-"], { input });
      expect(/```text\n(.*?)```/s.exec(page)?.[1]).toBe(stdout);
    },
  );

  it("npm run call -- check --bodies reads 100,000 bodies", async () => {
    const { stdout } = await checkLines(Array.from({ length: 100_000 }, () => creating()));
    expect(stdout).toBe("100000 of 100000 bodies pass.\n");
  });

  it.each([
    { says: "/no/such/file", args: ["--bodies", "/no/such/file"] },
    { says: "--bodies goes with --operation alone, without --secret", args: ["--bodies", "-", "--secret", "x"] },
    { says: '"delete_gd" is no operation', args: ["--bodies", "-", "--operation", "delete_gd"] },
    { says: "The file has no body", args: ["--bodies", "-"], input: "\r\n\n" },
  ])("npm run call -- check --bodies exits 2 when it cannot check: $says", async ({ says, args, input = "" }) => {
    const { exitCode, stdout, stderr } = await runMain(main, ["check", ...args], { input });
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(says);
  });
});
