import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { BINDING_RULE } from "../../../src/core/homes.ts";
import { main } from "../../../src/tools/cli/deploy.ts";
import { withDatabase } from "../../../src/tools/cli/wrangler-toml.ts";
import { makeCheckout } from "../../support/checkout.ts";
import { failure } from "../../support/fake-api.ts";
import { FakeCloudflare } from "../../support/fake-cloudflare.ts";
import { runMain } from "../../support/run-main.ts";
import { warmWrangler } from "../../support/warm-wrangler.ts";

const WORKER = "agent-session-staging";
const APAC = { binding: "HOME_APAC", database_name: `${WORKER}-apac`, migrations_dir: "migrations" };
const MIGRATIONS = readdirSync(join(import.meta.dirname, "../../../migrations")).filter((name) =>
  name.endsWith(".sql"),
);
const SETTINGS = `GET /workers/scripts/${WORKER}/settings`;

const wrangler = warmWrangler();
const folder = mkdtempSync(join(tmpdir(), "deploy-stale-"));
const TOML = join(folder, "wrangler.toml");
/** The texts of wrangler.toml without the home, and with it. */
let stale: string;
let current: string;
let fake: FakeCloudflare;

beforeAll(() => {
  makeCheckout(folder);
  stale = readFileSync(TOML, "utf8");
  current = withDatabase(stale, "staging", APAC);
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

beforeEach(async () => {
  writeFileSync(TOML, current);
  fake = await FakeCloudflare.start();
  fake.addWorker(WORKER, ["MASTER_KEY", "ADMIN_TOKEN"]);
  for (const name of [WORKER, APAC.database_name]) fake.addDatabase(name, MIGRATIONS);
  for (const queue of ["events", "journal"]) fake.queues.add(`${WORKER}-${queue}`, WORKER);
  serve();
});
afterEach(() => fake.close());

function serve(...more: { name: string; type: string; text: string }[]): void {
  const binding = (name: string, database: string) => ({ name, type: "d1", id: fake.databases.get(database)?.uuid });
  worker().versions.push([binding("DB", WORKER), binding("HOME_APAC", APAC.database_name), ...more]);
}

const text = (name: string, value: string) => ({ name, type: "plain_text", text: value });

const deploy = (...args: string[]) =>
  runMain(main, ["--env", "staging", ...args], { env: fake.environment, root: folder, wrangler });

function worker() {
  const fakeWorker = fake.workers.get(WORKER);
  if (fakeWorker === undefined) throw new Error("no Worker");
  return fakeWorker;
}

const isClosed = () => worker().secrets.has("CLOSED_APAC");
const serves = (name: string) =>
  worker()
    .versions.at(-1)
    ?.find((binding) => binding.name === name);

/** Expects that a deployment is refused and changes nothing. @returns its error text */
async function refusalOf(...args: string[]): Promise<string> {
  fake.calls.length = 0;
  const { exitCode, stderr } = await deploy(...args);
  expect([exitCode, fake.writes().filter((call) => !call.endsWith("/query"))]).toEqual([1, []]);
  return stderr;
}

describe("deploying", () => {
  it("a deployment keeps a home closed that was closed from another checkout, and says so", async () => {
    worker().secrets.add("CLOSED_APAC");
    const { exitCode, stdout } = await deploy();
    expect([exitCode, isClosed()]).toEqual([0, true]);
    expect(stdout).toContain("Home apac is closed: its sites answer 503");
    const plain = ["deploy", "--env", "staging"];
    expect((await wrangler(plain, { env: fake.environment, root: folder, input: "" })).exitCode).toBe(0);
    expect([isClosed(), fake.unknown]).toEqual([true, []]);
  });

  it("a deployment makes secrets for the homes in CLOSED_HOMES before it removes that var, and can be repeated after a failure", async () => {
    serve(text("CLOSED_HOMES", "apac"));
    fake.refuse = (call) => (call.endsWith("/versions") ? failure(500, 10013, "An unknown error.") : undefined);
    expect((await deploy()).exitCode).not.toBe(0);
    expect([isClosed(), serves("CLOSED_HOMES")?.text]).toEqual([true, "apac"]);
    fake.refuse = undefined;
    const { exitCode, stdout } = await deploy();
    expect([exitCode, isClosed(), serves("CLOSED_HOMES")]).toEqual([0, true, undefined]);
    expect(stdout).toContain("The secret CLOSED_APAC closes it from now on.");
  });

  it("a deployment with --keep-vars empties CLOSED_HOMES, so that no opened home is closed again", async () => {
    serve(text("CLOSED_HOMES", "apac"), text("OF_THE_DASHBOARD", "stays"));
    expect((await deploy("--keep-vars")).exitCode).toBe(0);
    expect([isClosed(), serves("CLOSED_HOMES")?.text]).toEqual([true, ""]);
    expect(serves("OF_THE_DASHBOARD")?.text).toBe("stays");
    expect((await deploy("--open", "apac")).exitCode).toBe(0);
    expect((await deploy("--keep-vars")).exitCode).toBe(0);
    expect([isClosed(), serves("CLOSED_HOMES")?.text]).toEqual([false, ""]);
  });

  it("a deployment that lacks a serving home is refused, unless --drop-home names the home", async () => {
    writeFileSync(TOML, stale);
    expect(await refusalOf()).toContain(`Nothing was deployed: Worker ${WORKER} serves home apac`);
    expect(await refusalOf("--drop-home", "oc")).toContain("npm run deploy -- --drop-home apac");
    expect((await deploy("--drop-home", "apac")).exitCode).toBe(0);
    expect(serves("HOME_APAC")).toBe(undefined);
    writeFileSync(TOML, current);
    const outcome = await deploy("--drop-home", "apac");
    expect(outcome).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("first remove its binding from") });
  });

  it("a deployment that binds another database to a home is refused while the home is open", async () => {
    writeFileSync(TOML, current.replace(`"${APAC.database_name}"`, '"a-copy"'));
    fake.addDatabase("a-copy", MIGRATIONS);
    expect(await refusalOf()).toContain(`home apac is served from the database ${APAC.database_name}`);
    worker().secrets.add("CLOSED_APAC");
    expect((await deploy()).exitCode).toBe(0);
    expect(serves("HOME_APAC")?.id).toBe(fake.databases.get("a-copy")?.uuid);
  });

  it("a deployment respects homes that somebody closes or adds while it migrates", async () => {
    const meanwhile = (change: () => void) => {
      fake.refuse = (call) => {
        if (call.endsWith("/query")) change();
        return undefined;
      };
    };
    meanwhile(() => serve(text("CLOSED_HOMES", "apac")));
    expect((await deploy()).exitCode).toBe(0);
    expect([isClosed(), serves("CLOSED_HOMES")]).toEqual([true, undefined]);
    const { uuid } = fake.addDatabase("of-oc", MIGRATIONS);
    meanwhile(() =>
      worker().versions.push([...(worker().versions.at(-1) ?? []), { name: "HOME_OC", type: "d1", id: uuid }]),
    );
    expect(await refusalOf()).toContain("serves home oc");
  });

  it("a deployment is refused when somebody opens a home that it skipped because it was closed and broken", async () => {
    worker().secrets.add("CLOSED_APAC");
    const broken = fake.databases.get(APAC.database_name);
    if (broken !== undefined) broken.fault = "The home is out of order.";
    fake.refuse = (call) => {
      if (call === `POST /d1/database/${broken?.uuid}/query`) worker().secrets.delete("CLOSED_APAC");
      return undefined;
    };
    expect(await refusalOf()).toContain("somebody has opened home apac, which could not be migrated");
  });

  it("a deployment of a release that is older than the database is refused without --older", async () => {
    for (const name of [WORKER, APAC.database_name]) fake.addDatabase(name, [...MIGRATIONS, "9999_later.sql"]);
    serve();
    expect(await refusalOf()).toContain("Database is of a later version: 9999_later.sql is applied there.");
    const { exitCode, stdout } = await deploy("--older");
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("Home apac is of a later version")]);
  });

  it("a deployment is refused when Cloudflare does not say which homes are closed", async () => {
    const broken = fake.databases.get(APAC.database_name);
    if (broken !== undefined) broken.fault = "The home is out of order.";
    expect(await refusalOf()).toContain("Home apac (HOME_APAC) could not be migrated, so nothing was deployed");
    fake.refuse = (call) => (call === SETTINGS ? failure(500, 10013, "An unknown error.") : undefined);
    expect(await refusalOf()).toContain("An unknown error. [code: 10013]");
  });
});

describe("closing and opening", () => {
  it("npm run deploy --open succeeds when somebody else opens the home at the same moment", async () => {
    worker().secrets.add("CLOSED_APAC");
    fake.refuse = (call) => {
      if (call.startsWith("DELETE ")) worker().secrets.delete("CLOSED_APAC");
      return undefined;
    };
    expect(await deploy("--open", "apac")).toMatchObject({ exitCode: 0, stdout: "Home apac is open.\n", stderr: "" });
  });

  it("npm run deploy --close and --open take serving homes that this checkout lacks, and no other names", async () => {
    writeFileSync(TOML, stale);
    expect(await deploy("--close", "apac")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(isClosed()).toBe(true);
    expect((await deploy("--close", "apac")).stdout).toContain("Home apac is closed, as it was");
    expect(await deploy("--open", "apac")).toMatchObject({ exitCode: 0, stdout: "Home apac is open.\n" });
    expect((await deploy("--open", "apac")).stdout).toContain("Home apac is open, as it was.");
    const unknown = await deploy("--close", "apca");
    expect(unknown).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("The homes are: main, apac.") });
  });
});

describe("before any request to Cloudflare", () => {
  it("npm run deploy refuses a configuration with a D1 binding that is no home", async () => {
    const block = { binding: "HOME_MAIN", database_name: "by-hand", migrations_dir: "migrations" };
    await refusesConfiguration((toml) => withDatabase(toml, "staging", block), `bound as HOME_MAIN. ${BINDING_RULE}`);
  });

  it.each([
    ["WEBHOOK_LOOPBACK", "allow"],
    ["ACCESS_CERTS_URL", "http://localhost/certs"],
    ["CLOSED_HOMES", ""],
    ["CLOSED_MAIN", ""],
  ])("npm run deploy refuses a configuration that sets %s", async (name, value) => {
    const withVar = (toml: string) => toml.replace("[env.staging.vars]", `[env.staging.vars]\n${name} = "${value}"`);
    await refusesConfiguration(withVar, `wrangler.faulty.toml sets ${name}.`);
  });

  async function refusesConfiguration(faulty: (toml: string) => string, says: string): Promise<void> {
    writeFileSync(join(folder, "wrangler.faulty.toml"), faulty(stale));
    for (const more of [[], ["--dry-run"]]) {
      const { exitCode, stdout, stderr } = await deploy("--config", "wrangler.faulty.toml", ...more);
      expect(stderr).toContain(says);
      expect([exitCode, stdout, fake.calls]).toEqual([1, "", []]);
    }
  }

  it.each(["CLOSED_HOMES=main\n", '{"ADMIN_TOKEN":"x","CLOSED_MAIN":""}'])(
    "npm run deploy refuses the file of secrets %j",
    async (text) => {
      writeFileSync(join(folder, "closing.env"), text);
      const { exitCode, stdout, stderr } = await deploy("--secrets-file", "closing.env");
      expect(stderr).toMatch(/closing\.env sets CLOSED_(HOMES|MAIN)\. No file/);
      expect([exitCode, stdout, fake.calls]).toEqual([1, "", []]);
    },
  );
});
