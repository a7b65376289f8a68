import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDatabases } from "../../src/cli/create-databases.ts";
import { bindingOfHome } from "../../src/homes.ts";
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

describe("npm run deploy with homes", { timeout: 280_000 }, () => {
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

    if (home !== undefined) home.fault = undefined;
    const opened = await deploy("--open", "apac", "--close", "main");
    expect(opened).toMatchObject({ exitCode: 0, stderr: "" });
    expect(serving()).toEqual({ apac: apac()?.uuid, closed: "main" });
    expect(toml()).toBe(`${top}${staging.replace('CLOSED_HOMES = ""', 'CLOSED_HOMES = "main"')}\n${block}`);
    expect(fake.unknown).toEqual([]);
  });
});

describe("the databases that do not exist yet", { timeout: 120_000 }, () => {
  const home = (name: string) => ({ binding: bindingOfHome(name), database_name: `db-${name}` });

  it("are made where the options say, a home with the name of a place there, and no other home anywhere", async () => {
    for (const [name, value] of Object.entries(fake.environment)) vi.stubEnv(name, value);
    await createDatabases([home("main"), home("eu-west")], { home: "eu-west", jurisdiction: "eu" }, ["--env", ""]);
    await createDatabases([home("oc")], { location: "weur" }, ["--env", ""]);
    const unplaced = createDatabases([home("main"), home("tokyo")], {}, ["--env", ""]);
    await expect(unplaced).rejects.toThrow("npm run deploy -- --home tokyo --location HINT");
    vi.unstubAllEnvs();
    const made = [...fake.databases.values()].filter(({ name }) => name.startsWith("db-"));
    expect(made.map(({ name, location, jurisdiction }) => [name, location, jurisdiction])).toEqual([
      ["db-main", undefined, undefined],
      ["db-eu-west", undefined, "eu"],
      ["db-oc", "oc", undefined],
    ]);
  });
});
