import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { main } from "../../../src/tools/cli/demo.ts";
import { runCli } from "../../support/run-cli.ts";
import { runMain } from "../../support/run-main.ts";

// The test has its own temporary folder, because other test files start and stop Workers in the machine's.
let temporary: string;

beforeAll(() => {
  temporary = mkdtempSync(join(tmpdir(), "demo-test-"));
});

afterAll(() => rmSync(temporary, { recursive: true, force: true }));

it("npm run demo refuses an unknown option, and prints its help with --help", async () => {
  const unknown = await runCli("demo", ["--quick"]);
  expect(unknown).toMatchObject({ exitCode: 2, stdout: "", stderr: expect.stringContaining("--quick") });
  expect(await runMain(main, ["--help"])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("Exit code") });
});

it("npm run demo finds each answer and the store as the contract says, and leaves no file behind", async () => {
  const secrets = join(import.meta.dirname, "../../.dev.vars");
  const before = existsSync(secrets);
  const { exitCode, stdout, stderr } = await runCli("demo", [], { env: { TMPDIR: temporary } });
  expect(stderr).toBe("");
  expect(stdout).not.toContain("✗");
  const [, passedCount] = /^(\d+) passed, 0 failed$/.exec(stdout.trimEnd().split("\n").at(-1) ?? "") ?? [];
  expect(Number(passedCount)).toBe(stdout.split("✓").length - 1);
  expect(Number(passedCount)).toBeGreaterThanOrEqual(54);
  expect(exitCode).toBe(0);
  expect({ left: readdirSync(temporary), secrets: existsSync(secrets) }).toEqual({ left: [], secrets: before });
});
