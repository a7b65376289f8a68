import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeCheckout } from "../support/checkout.ts";
import { FakeCloudflare } from "../support/fake-cloudflare.ts";
import { run } from "../support/run-cli.ts";

const WORKER = "agent-session-staging";
const MIGRATIONS = readdirSync(join(import.meta.dirname, "../../migrations")).filter((name) => name.endsWith(".sql"));

let fake: FakeCloudflare;
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "deploy-homes-"));
  makeCheckout(join(folder, "checkout"));
  fake = await FakeCloudflare.start();
  fake.addWorker(WORKER, ["MASTER_KEY", "ADMIN_TOKEN"]);
  fake.addDatabase(WORKER, MIGRATIONS);
});

afterEach(async () => {
  await fake.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

const deploy = (...args: string[]) =>
  run(process.execPath, [join(folder, "checkout/src/cli/deploy.ts"), "--env", "staging", ...args], {
    env: fake.environment,
  });

const toml = () => readFileSync(join(folder, "checkout/wrangler.toml"), "utf8");

const apac = () => fake.databases.get(`${WORKER}-apac`);

/** What serves: nothing before the first deployment. */
function serving() {
  const bindings = fake.workers.get(WORKER)?.versions.at(-1) ?? [];
  const find = (name: string) => bindings.find((binding) => binding.name === name);
  return { apac: find("HOME_APAC")?.id, closed: find("CLOSED_HOMES")?.text };
}

describe("npm run deploy with homes", { timeout: 240_000 }, () => {
  // One story, because a deployment takes ten seconds of a core.
  it("adds a home to one stage, finishes what a failure left behind, and closes and opens it, even when it is out of order", async () => {
    const before = toml();
    fake.addDatabase(`${WORKER}-apac`, []).fault = "The home is out of order.";
    const failed = await deploy("--home", "apac");
    expect(failed.exitCode).toBe(1);
    expect(failed.stdout).toContain("Database is up to date.");
    expect(failed.stderr).toContain("Home apac (HOME_APAC) could not be migrated, so nothing was deployed");
    expect(failed.stderr).toContain("The home is out of order.");
    expect(serving()).toEqual({ apac: undefined, closed: undefined });
    const block = `[[env.staging.d1_databases]]\nbinding = "HOME_APAC"\ndatabase_name = "${WORKER}-apac"\nmigrations_dir = "migrations"\n`;
    expect(toml()).toBe(`${before}\n${block}`);

    // The database that was there goes, as if it had been the account that was out of order.
    fake.databases.delete(`${WORKER}-apac`);
    const added = await deploy("--home", "apac");
    expect(added).toMatchObject({ exitCode: 0, stderr: "" });
    expect(added.stdout).toContain(`Created database ${WORKER}-apac near apac.`);
    expect(added.stdout).toContain("Home apac migrated.");
    expect(toml()).toBe(`${before}\n${block}`);
    expect(apac()).toMatchObject({ location: "apac", jurisdiction: undefined });
    expect(apac()?.data.prepare("SELECT name FROM d1_migrations ORDER BY id").all()).toEqual(
      MIGRATIONS.map((name) => ({ name })),
    );
    expect(serving()).toEqual({ apac: apac()?.uuid, closed: "" });

    const home = apac();
    if (home !== undefined) home.fault = "The home is out of order.";
    const closed = await deploy("--close", "apac");
    expect(closed.exitCode).toBe(0);
    expect(closed.stderr).toContain("Home apac (HOME_APAC) could not be migrated. It is closed");
    expect(closed.stdout).toContain("Home apac is closed: its sites answer 503 until npm run deploy -- --open apac.");
    expect(serving().closed).toBe("apac");
    const stage = before.indexOf("[env.staging.vars]");
    const [top, staging] = [before.slice(0, stage), before.slice(stage)];
    expect(toml()).toBe(`${top}${staging.replace('CLOSED_HOMES = ""', 'CLOSED_HOMES = "apac"')}\n${block}`);

    const stillBroken = await deploy("--open", "apac");
    expect(stillBroken.exitCode).toBe(1);
    expect(stillBroken.stderr).toContain("Home apac (HOME_APAC) could not be migrated, so nothing was deployed");
    expect([serving().closed, toml()]).toEqual(["apac", expect.stringContaining('CLOSED_HOMES = "apac"')]);

    if (home !== undefined) home.fault = undefined;
    const again = await deploy("--close", "apac", "--close", "main");
    expect(again).toMatchObject({ exitCode: 0, stderr: "" });
    expect(serving().closed).toBe("apac,main");
    const opened = await deploy("--open", "apac", "--open", "main");
    expect(opened).toMatchObject({ exitCode: 0, stderr: "" });
    expect(serving()).toEqual({ apac: apac()?.uuid, closed: "" });
    expect(toml()).toBe(`${before}\n${block}`);
    expect(fake.unknown).toEqual([]);
  });

  it("makes a home where its data must stay, and lists the homes when one is named that is none", async () => {
    const added = await deploy("--home", "eu-west", "--jurisdiction", "eu", "--close", "eu-west");
    expect(added).toMatchObject({ exitCode: 0, stderr: "" });
    expect(added.stdout).toContain(`Created database ${WORKER}-eu-west in the jurisdiction eu.`);
    expect(fake.databases.get(`${WORKER}-eu-west`)).toMatchObject({ jurisdiction: "eu", location: undefined });
    expect(toml()).toContain('binding = "HOME_EU_WEST"');
    expect(serving().closed).toBe("eu-west");

    const kept = toml();
    fake.calls.length = 0;
    const { exitCode, stderr } = await deploy("--open", "us");
    expect(stderr).toContain("There is no home us. The homes are: main, eu-west.");
    expect([exitCode, fake.calls, toml()]).toEqual([2, [], kept]);

    // Another account: a home stays where it is made, so it is not made anywhere.
    fake.databases.delete(`${WORKER}-eu-west`);
    const nowhere = await deploy();
    expect(nowhere.exitCode).toBe(1);
    expect(nowhere.stderr).toContain("npm run deploy -- --home eu-west --location HINT");
    expect(fake.databases.has(`${WORKER}-eu-west`)).toBe(false);
  });
});
