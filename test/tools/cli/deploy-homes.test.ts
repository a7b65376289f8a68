import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bindingOfHome } from "../../../src/core/homes.ts";
import { createDatabases, type DatabasePlace } from "../../../src/tools/cli/create-databases.ts";
import { main } from "../../../src/tools/cli/deploy.ts";
import type { Io } from "../../../src/tools/cli/io.ts";
import type { Database } from "../../../src/tools/cli/migrate.ts";
import { withDatabase } from "../../../src/tools/cli/wrangler-toml.ts";
import { makeCheckout } from "../../support/checkout.ts";
import { failure } from "../../support/fake-api.ts";
import { FakeCloudflare } from "../../support/fake-cloudflare.ts";
import { runMain } from "../../support/run-main.ts";
import { warmWrangler } from "../../support/warm-wrangler.ts";

const WORKER = "agent-session-staging";
const MIGRATIONS = readdirSync(join(import.meta.dirname, "../../../migrations")).filter((name) =>
  name.endsWith(".sql"),
);

const wrangler = warmWrangler();
const folder = mkdtempSync(join(tmpdir(), "deploy-homes-"));
const TOML = join(folder, "wrangler.toml");
let original: string;
let fake: FakeCloudflare;

beforeAll(() => {
  makeCheckout(folder);
  original = toml();
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

beforeEach(async () => {
  writeFileSync(TOML, original);
  fake = await FakeCloudflare.start();
  fake.addWorker(WORKER, ["MASTER_KEY", "ADMIN_TOKEN"]);
  fake.addDatabase(WORKER, MIGRATIONS);
});

afterEach(() => fake.close());

const deploy = (...args: string[]) => deployAs(fake.environment, ...args);

const deployAs = (env: Record<string, string>, ...args: string[]) =>
  runMain(main, ["--env", "staging", ...args], { env, root: folder, wrangler });

const toml = () => readFileSync(TOML, "utf8");

const apac = () => fake.databases.get(`${WORKER}-apac`);

const worker = () => fake.workers.get(WORKER);

/** The version that serves. There is none before the first deployment. */
function serving() {
  const find = (name: string) =>
    worker()
      ?.versions.at(-1)
      ?.find((binding) => binding.name === name);
  const closed = [...(worker()?.secrets ?? [])].filter((name) => name.startsWith("CLOSED_"));
  return { apac: find("HOME_APAC")?.id, list: find("CLOSED_HOMES")?.text, closed: closed.sort() };
}

describe("a new home", () => {
  it("npm run deploy adds a home, goes on after a failure, and keeps a closed home closed, also while its database fails", async () => {
    const before = toml();
    fake.addDatabase(`${WORKER}-apac`, []).fault = "The home is out of order.";
    const failed = await deploy("--home", "apac");
    expect(failed.exitCode).toBe(1);
    expect(failed.stdout).toContain("Database is up to date.");
    expect(failed.stderr).toContain("Home apac (HOME_APAC) could not be migrated, so nothing was deployed");
    expect(failed.stderr).toContain("The home is out of order.");
    expect(serving().apac).toBe(undefined);
    const block = `[[env.staging.d1_databases]]\nbinding = "HOME_APAC"\ndatabase_name = "${WORKER}-apac"\nmigrations_dir = "migrations"\n`;
    expect(toml()).toBe(`${before}\n${block}`);

    // The database is deleted, so that the next deployment must make it, as after a failure of the whole account.
    fake.databases.delete(`${WORKER}-apac`);
    const outcome = await deploy("--home", "apac");
    expect(outcome).toMatchObject({ exitCode: 0, stderr: "" });
    expect(outcome.stdout).toContain(`Created database ${WORKER}-apac near apac.`);
    expect(outcome.stdout).toContain("Home apac migrated.");
    expect(toml()).toBe(`${before}\n${block}`);
    expect(apac()).toMatchObject({ location: "apac", jurisdiction: undefined });
    expect(apac()?.data.prepare("SELECT name FROM d1_migrations ORDER BY id").all()).toEqual(
      MIGRATIONS.map((name) => ({ name })),
    );
    expect(serving()).toEqual({ apac: apac()?.uuid, list: undefined, closed: [] });

    // The home is closed, and stays closed in the next deployment, although its database fails.
    expect(await deploy("--close", "apac")).toMatchObject({ exitCode: 0, stderr: "" });
    const home = apac();
    if (home !== undefined) home.fault = "The home is out of order.";
    const secondAnswer = await deploy();
    expect(secondAnswer.exitCode).toBe(0);
    expect(secondAnswer.stderr).toContain("Home apac (HOME_APAC) could not be migrated. It is closed");
    expect(secondAnswer.stdout).toContain(
      "Home apac is closed: its sites answer 503 until npm run deploy -- --open apac.",
    );
    expect(serving()).toEqual({ apac: apac()?.uuid, list: undefined, closed: ["CLOSED_APAC"] });
    expect(fake.unknown).toEqual([]);
  });
});

const SETTINGS = `/workers/scripts/${WORKER}/settings`;
const SECRETS = `/workers/scripts/${WORKER}/secrets`;
type Bindings = { name: string; type: string; text?: string; id?: string; queue_name?: string }[];

/** Lets Cloudflare serve the bindings of a deployment from wrangler.toml. @param list the var CLOSED_HOMES of an older release */
function serve(databases: readonly [binding: string, database: string][], list?: string): Bindings {
  const bindings: Bindings = [
    { name: "ERROR_STATUS", type: "plain_text", text: "always-200" },
    { name: "EVENTS", type: "queue", queue_name: "events" },
    ...databases.map(([name, database]) => ({ name, type: "d1", id: fake.databases.get(database)?.uuid ?? "gone" })),
    ...(list === undefined ? [] : [{ name: "CLOSED_HOMES", type: "plain_text", text: list }]),
  ];
  worker()?.versions.push(bindings);
  return bindings;
}

/** Binds a home in wrangler.toml, and makes its database. */
function bind(home: string, migrations: readonly string[] = MIGRATIONS) {
  const block = { binding: bindingOfHome(home), database_name: `${WORKER}-${home}`, migrations_dir: "migrations" };
  writeFileSync(TOML, withDatabase(toml(), "staging", block));
  return fake.addDatabase(block.database_name, migrations);
}

const THREE = [
  ["DB", WORKER],
  ["HOME_APAC", `${WORKER}-apac`],
  ["HOME_OC", `${WORKER}-oc`],
] as const satisfies [string, string][];

describe("closing and opening", () => {
  let bindings: Bindings;
  let before: string;

  beforeEach(() => {
    for (const home of ["apac", "oc"]) bind(home, []).fault = "The home is out of order.";
    bindings = serve(THREE);
    before = toml();
  });

  const live = () => [worker()?.versions.at(-1), serving().closed];

  it("npm run deploy --close and --open set and delete one secret of the serving Worker, ask no database and write no file", async () => {
    const closed = await deploy("--close", "apac");
    expect(closed).toMatchObject({ exitCode: 0, stderr: "" });
    expect(closed.stdout).toBe("Home apac is closed: its sites answer 503 until npm run deploy -- --open apac.\n");
    expect(live()).toEqual([bindings, ["CLOSED_APAC"]]);
    expect(new Set(fake.calls)).toEqual(new Set([`GET ${SETTINGS}`, `GET ${SECRETS}`, `PUT ${SECRETS}`]));

    fake.calls.length = 0;
    const twice = await deploy("--close", "apac");
    expect([twice.exitCode, twice.stderr, fake.writes()]).toEqual([0, "", []]);
    expect(twice.stdout).toContain("Home apac is closed, as it was");

    expect((await deploy("--open", "apac", "--close", "main")).exitCode).toBe(0);
    expect(live()).toEqual([bindings, ["CLOSED_MAIN"]]);
    expect((await deploy("--open", "main")).stdout).toBe("Home main is open.\n");
    expect(live()).toEqual([bindings, []]);

    fake.calls.length = 0;
    const open = await deploy("--open", "main");
    expect(open.stdout).toBe("Home main is open, as it was.\n");
    expect([open.exitCode, fake.writes(), fake.unknown, toml()]).toEqual([0, [], [], before]);
  });

  it("npm run deploy --close and --open keep what another operator closes and opens at the same time", async () => {
    await deploy("--close", "main");
    const both = await Promise.all([deploy("--close", "apac"), deploy("--close", "oc"), deploy("--open", "main")]);
    expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect(live()).toEqual([bindings, ["CLOSED_APAC", "CLOSED_OC"]]);
  });

  it("npm run deploy --close and --open know closed homes that this checkout lacks, and refuse any other name", async () => {
    worker()?.secrets.add("CLOSED_ELSEWHERE");
    const closed = await deploy("--close", "apac");
    expect(closed.stdout).toContain("Home elsewhere is closed, as it was");
    expect(await deploy("--open", "elsewhere")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(serving().closed).toEqual(["CLOSED_APAC"]);
    const unknown = await deploy("--open", "elsewhere");
    expect(unknown).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("There is no home elsewhere.") });
  });

  it("npm run deploy --close fails when Cloudflare refuses the change or does not make it, and can be repeated", async () => {
    fake.refuse = (call) => (call === `PUT ${SECRETS}` ? failure(400, 10215, "Secret edit failed.") : undefined);
    const refusal = await deploy("--close", "apac");
    expect(refusal.exitCode).toBe(1);
    expect(refusal.stderr).toContain("Secret edit failed. [code: 10215]");
    expect(refusal.stderr).toContain("Deploy the release that serves, then run this again.");
    fake.refuse = (call) => (call === `PUT ${SECRETS}` ? { result: {} } : undefined);
    const outcome = await deploy("--close", "apac");
    expect([outcome.exitCode, outcome.stdout]).toEqual([1, ""]);
    expect(outcome.stderr).toContain("does not have it yet for apac. Run this again to look.");
    fake.refuse = undefined;
    expect((await deploy("--close", "apac")).exitCode).toBe(0);
    expect(live()).toEqual([bindings, ["CLOSED_APAC"]]);
  });

  it("npm run deploy --close fails with a message when the Worker does not exist or Cloudflare does not answer", async () => {
    const nobody = await deploy("--close", "apac", "--name", "nobody");
    expect(nobody.exitCode).toBe(1);
    expect(nobody.stderr).toContain("This Worker does not exist on your account. [code: 10007]");
    const { environment } = fake;
    await fake.close();
    const silent = await deployAs(environment, "--close", "apac");
    expect(silent.exitCode).toBe(1);
    expect(silent.stderr).toMatch(/^127\.0\.0\.1:\d+ gave no answer: /);
  });

  it("npm run deploy --close and --open also change CLOSED_HOMES while an older release serves, and report a binding that was lost", async () => {
    serve(THREE, "oc");
    expect((await deploy("--close", "apac")).stdout).toContain("Home oc is closed, as it was");
    expect(serving()).toMatchObject({ list: "apac,oc", closed: ["CLOSED_APAC"] });
    expect((await deploy("--open", "apac", "--open", "oc")).exitCode).toBe(0);
    expect(serving()).toMatchObject({ list: "", closed: [] });
    fake.refuse = (call) => {
      if (call !== `PATCH ${SETTINGS}`) return undefined;
      worker()?.versions.push(bindings.filter(({ type }) => type !== "queue"));
      return { result: {} };
    };
    const outcome = await deploy("--close", "apac");
    expect([outcome.exitCode, outcome.stderr]).toEqual([
      1,
      expect.stringContaining("has lost EVENTS. Bring back what served"),
    ]);
  });

  it("npm run deploy --close fails while an older release serves and Cloudflare does not change CLOSED_HOMES", async () => {
    serve(THREE, "");
    fake.refuse = (call) => (call === `PATCH ${SETTINGS}` ? { result: {} } : undefined);
    const outcome = await deploy("--close", "apac");
    expect([outcome.exitCode, outcome.stdout]).toEqual([1, ""]);
    expect(outcome.stderr).toContain("does not have it yet for apac. Run this again to look.");
    fake.refuse = undefined;
    expect((await deploy("--close", "apac")).exitCode).toBe(0);
    expect(serving()).toMatchObject({ list: "apac", closed: ["CLOSED_APAC"] });
  });

  it("npm run deploy --close keeps the homes in CLOSED_HOMES that another operator closed there meanwhile", async () => {
    serve(THREE, "");
    fake.refuse = (call) => {
      if (call !== `PUT ${SECRETS}`) return undefined;
      worker()?.secrets.add("CLOSED_OC");
      serve(THREE, "oc");
      return undefined;
    };
    expect((await deploy("--close", "apac")).exitCode).toBe(0);
    expect(serving()).toMatchObject({ list: "apac,oc", closed: ["CLOSED_APAC", "CLOSED_OC"] });
  });

  it("npm run deploy --close finds the account when the credentials have only one", async () => {
    fake.refuse = (call) => (call === "GET /accounts" ? { result: [{ id: fake.accountId }] } : undefined);
    const { CLOUDFLARE_ACCOUNT_ID, ...environment } = fake.environment;
    const { exitCode, stderr } = await deployAs(environment, "--close", "apac");
    expect([exitCode, stderr, live()]).toEqual([0, "", [bindings, ["CLOSED_APAC"]]]);

    fake.refuse = (call) => (call === "GET /accounts" ? { result: [{ id: "a" }, { id: "b" }] } : undefined);
    const two = await deployAs(environment, "--open", "apac");
    expect([two.exitCode, two.stderr]).toEqual([1, expect.stringContaining("say which in CLOUDFLARE_ACCOUNT_ID")]);
  });
});

describe("new databases", () => {
  const home = (name: string) => ({ binding: bindingOfHome(name), database_name: `db-${name}` });

  it("a new database is made at the place of the options, or at the place that its home is named after", async () => {
    const create = (databases: Database[], place: DatabasePlace) => {
      const creating = async (_: string[], io: Io) => {
        await createDatabases(databases, place, ["--env", ""], io);
        return 0;
      };
      return runMain(creating, [], { env: fake.environment, wrangler });
    };
    await create([home("main"), home("eu-west")], { home: "eu-west", jurisdiction: "eu" });
    await create([home("oc")], { location: "weur" });
    await create([{ binding: "DB", database_name: "db-directory" }], { jurisdiction: "fedramp" });
    const unplaced = create([home("main"), home("tokyo")], {});
    await expect(unplaced).rejects.toThrow("npm run deploy -- --home tokyo --location HINT");
    const databases = [...fake.databases.values()].filter(({ name }) => name.startsWith("db-"));
    expect(databases.map(({ name, location, jurisdiction }) => [name, location, jurisdiction])).toEqual([
      ["db-main", undefined, undefined],
      ["db-eu-west", undefined, "eu"],
      ["db-oc", "oc", undefined],
      ["db-directory", undefined, "fedramp"],
    ]);
  });
});
