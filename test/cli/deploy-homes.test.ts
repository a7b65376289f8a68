import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDatabases, type Place } from "../../src/cli/create-databases.ts";
import { main } from "../../src/cli/deploy.ts";
import type { Io } from "../../src/cli/io.ts";
import type { Database } from "../../src/cli/migrate.ts";
import { withDatabase } from "../../src/cli/wrangler-toml.ts";
import { bindingOfHome } from "../../src/homes.ts";
import { makeCheckout } from "../support/checkout.ts";
import { failure } from "../support/fake-api.ts";
import { FakeCloudflare } from "../support/fake-cloudflare.ts";
import { runMain } from "../support/run-main.ts";
import { warmWrangler } from "../support/warm-wrangler.ts";

const WORKER = "agent-session-staging";
const MIGRATIONS = readdirSync(join(import.meta.dirname, "../../migrations")).filter((name) => name.endsWith(".sql"));

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

/** The version that serves: none before the first deployment. */
function serving() {
  const bindings = fake.workers.get(WORKER)?.versions.at(-1) ?? [];
  const find = (name: string) => bindings.find((binding) => binding.name === name);
  return { apac: find("HOME_APAC")?.id, closed: find("CLOSED_HOMES")?.text };
}

describe("npm run deploy with homes", () => {
  it("adds a home to one stage, finishes after a failure, closes the home, and keeps it closed, also while it is out of order", async () => {
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

    // The database is deleted, so that the next deployment must make it, as after a fault of the whole account.
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

    // The home is closed in the deployed version, whose other bindings stay, and in the next deployment, although its database fails.
    const bindings = fake.workers.get(WORKER)?.versions.at(-1) ?? [];
    expect(await deploy("--close", "apac")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(fake.workers.get(WORKER)?.versions.at(-1)).toEqual(closing(bindings, "apac"));
    const home = apac();
    if (home !== undefined) home.fault = "The home is out of order.";
    const again = await deploy();
    expect(again.exitCode).toBe(0);
    expect(again.stderr).toContain("Home apac (HOME_APAC) could not be migrated. It is closed");
    expect(again.stdout).toContain("Home apac is closed: its sites answer 503 until npm run deploy -- --open apac.");
    expect(serving()).toEqual({ apac: apac()?.uuid, closed: "apac" });
    expect(fake.unknown).toEqual([]);
  });
});

/** The bindings with another value of CLOSED_HOMES; the API lists that var last. */
const closing = (bindings: readonly { name: string; type: string }[], homes: string) => [
  ...bindings.filter(({ name }) => name !== "CLOSED_HOMES"),
  { name: "CLOSED_HOMES", type: "plain_text", text: homes },
];

describe("npm run deploy -- --close and --open", () => {
  const SETTINGS = `/workers/scripts/${WORKER}/settings`;
  let bindings: { name: string; type: string; text?: string; queue_name?: string }[];

  /** What serves after a deployment: three homes, two of them out of order. */
  function serve(closed: string): void {
    bindings = [
      { name: "MASTER_KEY", type: "secret_text" },
      { name: "ADMIN_TOKEN", type: "secret_text" },
      { name: "ERROR_STATUS", type: "plain_text", text: "always-200" },
      { name: "CLOSED_HOMES", type: "plain_text", text: closed },
      { name: "EVENTS", type: "queue", queue_name: "events" },
      ...[...fake.databases.values()].map(({ uuid }, n) => ({ name: `DB${n}`, type: "d1", id: uuid })),
    ];
    fake.workers.get(WORKER)?.versions.push(bindings);
  }

  const live = () => fake.workers.get(WORKER)?.versions.at(-1);
  const written = () => /\[env\.staging\.vars\][^[]*^CLOSED_HOMES = "(.*)"$/m.exec(toml())?.[1];

  beforeEach(() => {
    let text = toml();
    for (const home of ["apac", "oc"]) {
      const block = { binding: bindingOfHome(home), database_name: `${WORKER}-${home}`, migrations_dir: "migrations" };
      text = withDatabase(text, "staging", block);
      fake.addDatabase(block.database_name, []).fault = "The home is out of order.";
    }
    writeFileSync(TOML, text);
    serve("");
  });

  it("change CLOSED_HOMES of what serves and of wrangler.toml, and nothing else, without asking any database", async () => {
    const before = toml();
    const closed = await deploy("--close", "apac");
    expect(closed).toMatchObject({ exitCode: 0, stderr: "" });
    expect(closed.stdout).toContain("Home apac is closed: its sites answer 503 until npm run deploy -- --open apac.");
    expect(live()).toEqual(closing(bindings, "apac"));
    expect(new Set(fake.calls)).toEqual(new Set([`GET ${SETTINGS}`, `PATCH ${SETTINGS}`]));
    const stage = before.indexOf("[env.staging.vars]");
    const [top, staging] = [before.slice(0, stage), before.slice(stage)];
    expect(toml()).toBe(`${top}${staging.replace('CLOSED_HOMES = ""', 'CLOSED_HOMES = "apac"')}`);

    fake.calls.length = 0;
    const twice = await deploy("--close", "apac");
    expect(twice).toMatchObject({ exitCode: 0, stderr: "" });
    expect(twice.stdout).toContain("Home apac is closed, as it was");
    expect([fake.writes(), written()]).toEqual([[], "apac"]);

    expect((await deploy("--open", "apac", "--close", "main")).exitCode).toBe(0);
    expect([live(), written()]).toEqual([closing(bindings, "main"), "main"]);
    expect((await deploy("--open", "main")).exitCode).toBe(0);
    expect([live(), toml()]).toEqual([closing(bindings, ""), before]);

    fake.calls.length = 0;
    const open = await deploy("--open", "main");
    expect(open.stdout).toBe("Home main is open, as it was.\n");
    expect([open.exitCode, fake.writes(), toml()]).toEqual([0, [], before]);
    expect(fake.unknown).toEqual([]);
  });

  it("keep a home closed that was closed from another checkout, and write it into wrangler.toml", async () => {
    serve("oc,elsewhere");
    const closed = await deploy("--close", "apac");
    expect(closed.exitCode).toBe(0);
    expect(closed.stdout).toContain("Home oc is closed, as it was");
    expect(live()).toEqual(closing(bindings, "oc,elsewhere,apac"));
    // wrangler.toml gets no name of a home that it does not have: the next deployment would refuse that.
    expect(written()).toBe("oc,apac");
  });

  it("change only wrangler.toml when Cloudflare refuses, say how to deploy it, and can be repeated", async () => {
    fake.refuse = (call) => (call === `PATCH ${SETTINGS}` ? failure(400, 10214, "Cannot edit settings.") : undefined);
    const refused = await deploy("--close", "apac");
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("Cannot edit settings. [code: 10214]");
    expect(refused.stderr).toContain("The newest version is not the one that serves");
    expect(refused.stderr).toContain("npx wrangler deploy --env staging");
    expect([live(), written()]).toEqual([bindings, "apac"]);

    fake.refuse = undefined;
    expect((await deploy("--close", "apac")).exitCode).toBe(0);
    expect([live(), written()]).toEqual([closing(bindings, "apac"), "apac"]);
  });

  it("say so, and change nothing, when the Worker does not exist or Cloudflare does not answer", async () => {
    const before = toml();
    const nobody = await deploy("--close", "apac", "--name", "nobody");
    expect(nobody.exitCode).toBe(1);
    expect(nobody.stderr).toContain("This Worker does not exist on your account. [code: 10007]");
    const { environment } = fake;
    await fake.close();
    const silent = await deployAs(environment, "--close", "apac");
    expect(silent.exitCode).toBe(1);
    expect(silent.stderr).toMatch(/^127\.0\.0\.1:\d+ gave no answer: /);
    expect([live(), toml()]).toEqual([bindings, before]);
  });

  it("read back what serves afterwards, and say how to go back when Cloudflare kept less than it was sent", async () => {
    const answer = (left: typeof bindings) => (call: string) => {
      if (call !== `PATCH ${SETTINGS}`) return undefined;
      fake.workers.get(WORKER)?.versions.push(left);
      return { result: {} };
    };
    fake.refuse = answer(closing(bindings, "apac").filter(({ type }) => type !== "queue"));
    const lost = await deploy("--close", "apac");
    expect([lost.exitCode, lost.stderr]).toEqual([
      1,
      expect.stringContaining("has lost EVENTS. Bring back what served"),
    ]);
    fake.refuse = answer(bindings);
    const ignored = await deploy("--open", "apac", "--close", "oc");
    expect([ignored.exitCode, ignored.stderr]).toEqual([1, expect.stringContaining('took CLOSED_HOMES = "oc", but')]);
  });

  it("find the account by themselves when the credentials have only one", async () => {
    fake.refuse = (call) => (call === "GET /accounts" ? { result: [{ id: fake.accountId }] } : undefined);
    const { CLOUDFLARE_ACCOUNT_ID, ...environment } = fake.environment;
    const { exitCode, stderr } = await deployAs(environment, "--close", "apac");
    expect([exitCode, stderr, live()]).toEqual([0, "", closing(bindings, "apac")]);

    fake.refuse = (call) => (call === "GET /accounts" ? { result: [{ id: "a" }, { id: "b" }] } : undefined);
    const two = await deployAs(environment, "--open", "apac");
    expect([two.exitCode, two.stderr]).toEqual([1, expect.stringContaining("say which in CLOUDFLARE_ACCOUNT_ID")]);
  });
});

describe("databases that do not exist yet", () => {
  const home = (name: string) => ({ binding: bindingOfHome(name), database_name: `db-${name}` });

  it("are made in the place that the options say, or in the place that a home is named after, and no other home is made", async () => {
    const create = (databases: Database[], place: Place) => {
      const creating = async (_: string[], io: Io) => {
        await createDatabases(databases, place, ["--env", ""], io);
        return 0;
      };
      return runMain(creating, [], { env: fake.environment, wrangler });
    };
    await create([home("main"), home("eu-west")], { home: "eu-west", jurisdiction: "eu" });
    await create([home("oc")], { location: "weur" });
    const unplaced = create([home("main"), home("tokyo")], {});
    await expect(unplaced).rejects.toThrow("npm run deploy -- --home tokyo --location HINT");
    const made = [...fake.databases.values()].filter(({ name }) => name.startsWith("db-"));
    expect(made.map(({ name, location, jurisdiction }) => [name, location, jurisdiction])).toEqual([
      ["db-main", undefined, undefined],
      ["db-eu-west", undefined, "eu"],
      ["db-oc", "oc", undefined],
    ]);
  });
});
