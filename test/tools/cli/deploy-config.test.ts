import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { main as deploy } from "../../../src/tools/cli/deploy.ts";
import { main as secrets } from "../../../src/tools/cli/secrets.ts";
import { makeCheckout } from "../../support/checkout.ts";
import { FakeCloudflare } from "../../support/fake-cloudflare.ts";
import { runMain } from "../../support/run-main.ts";
import { warmWrangler } from "../../support/warm-wrangler.ts";

const folder = mkdtempSync(join(tmpdir(), "deploy-config-test-"));
const checkout = join(folder, "agent-session");
const wrangler = warmWrangler();
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

it("the commands of docs/upgrading.md deploy by a wrangler.toml beside the checkout, and a new home is written into that file", async () => {
  mkdirSync(checkout);
  makeCheckout(checkout, true);
  const page = readFileSync(join(import.meta.dirname, "../../../docs/upgrading.md"), "utf8");
  const [, block = ""] = page.split("## Your own wrangler.toml")[1]?.match(/^```sh\n(.*?)^```/ms) ?? [];
  const [makesFile = "", runs = []] = [
    block.split("\n").slice(0, 2).join("\n"),
    block.split("\n").filter((line) => line.startsWith("npm run ")),
  ];
  execFileSync("sh", ["-e"], { cwd: checkout, input: makesFile });
  const ownFile = () => readFileSync(join(folder, "shop-ops/wrangler.toml"), "utf8");
  const before = readFileSync(join(checkout, "wrangler.toml"), "utf8");

  const fake = await FakeCloudflare.start();
  try {
    const tools = { env: { ...fake.environment, HOME: folder }, root: checkout, wrangler };
    for (const line of runs) {
      const [, name, options = ""] = /^npm run (\w+) -- (.+)$/.exec(line) ?? [];
      const { exitCode, stderr } = await runMain(name === "secrets" ? secrets : deploy, options.split(" "), tools);
      expect([line, exitCode, stderr]).toEqual([line, 0, ""]);
    }
    expect(fake.workers.get("agent-session")?.versions.length).toBeGreaterThan(0);
    expect([...fake.databases.keys()]).toEqual(["agent-session"]);

    const added = await runMain(deploy, ["--config", "../shop-ops/wrangler.toml", "--home", "apac"], tools);
    expect([added.exitCode, added.stderr]).toEqual([0, ""]);
    expect(ownFile()).toContain('binding = "HOME_APAC"\n');
    expect(readFileSync(join(checkout, "wrangler.toml"), "utf8")).toBe(before);
  } finally {
    await fake.close();
  }
});
