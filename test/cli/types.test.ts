import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { prepareDatabase, prepareVar } from "../../src/cli/edit-config.ts";
import { makeCheckout } from "../support/checkout.ts";
import { run } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "types-test-"));
const checkout = join(folder, "checkout");
const file = join(checkout, "wrangler.toml");

beforeAll(() => makeCheckout(checkout));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

const types = (...args: string[]) => run(process.execPath, [join(checkout, "src/cli/types.ts"), ...args]);
const written = () => readFileSync(join(checkout, "worker-configuration.d.ts"), "utf8");

it("npm run types writes the types of wrangler.toml without its further homes, and --check fails when the file differs", {
  timeout: 120_000,
}, async () => {
  const block = { binding: "HOME_TOKYO", database_name: "by-hand", migrations_dir: "migrations" };
  for (const env of ["", "staging"]) (await prepareDatabase({ file, env }, block))();
  const [before, names] = [written(), readdirSync(checkout)];
  for (const env of ["", "staging"]) (await prepareVar({ file, env }, "ANOTHER_VAR", "1"))();
  const stale = await types("--check");
  expect(stale).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("Run `npm run types` and commit it.") });
  expect(written()).toBe(before);

  expect(await types()).toMatchObject({ exitCode: 0, stderr: "" });
  expect(written()).toContain("ANOTHER_VAR: string;");
  expect(written()).toContain("by running `wrangler types --strict-vars=false` (hash: ");
  expect(written()).not.toContain("HOME_TOKYO");
  expect(readdirSync(checkout)).toEqual(names);
});
