import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DOCUMENTED } from "../../../src/core/operations/index.ts";
import { main } from "../../../src/tools/cli/deploy.ts";
import { makeCheckout } from "../../support/checkout.ts";
import { FakeCloudflare } from "../../support/fake-cloudflare.ts";
import { run } from "../../support/run-cli.ts";
import { runMain } from "../../support/run-main.ts";
import { warmWrangler } from "../../support/warm-wrangler.ts";

const SECRETS = ["MASTER_KEY", "ADMIN_TOKEN"];

const folder = mkdtempSync(join(tmpdir(), "deploy-test-"));
const checkout = join(folder, "checkout");
const TOML = join(checkout, "wrangler.toml");
const wrangler = warmWrangler();
let fake: FakeCloudflare;

beforeAll(() => makeCheckout(checkout, true));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

beforeEach(async () => {
  fake = await FakeCloudflare.start();
});

afterEach(async () => {
  await fake.close();
});

const deploy = (...args: string[]) => runMain(main, args, { env: fake.environment, root: checkout, wrangler });

/** The bindings of the serving version of a Worker, each with the name of its resource. */
function bindingsOf(worker: string): Record<string, string | undefined> {
  const databases = new Map([...fake.databases.values()].map(({ uuid, name }) => [uuid, name]));
  const bindings = fake.workers.get(worker)?.versions.at(-1) ?? [];
  return Object.fromEntries(
    bindings
      .filter(({ type }) => ["d1", "kv_namespace", "queue"].includes(type))
      .map(({ name, id, namespace_id, queue_name }) => [
        name,
        databases.get(id as string) ?? fake.namespaces.get(namespace_id as string) ?? (queue_name as string),
      ]),
  );
}

const queues = () =>
  Object.fromEntries([...fake.queues.byName].map(([name, { consumers }]) => [name, [...consumers.keys()]]));

/** The migrations that are applied in a database. */
function migrationsOf(database: string): unknown[] {
  const data = fake.databases.get(database)?.data;
  return (
    data
      ?.prepare("SELECT name FROM d1_migrations ORDER BY id")
      .all()
      .map(({ name }) => name) ?? []
  );
}

describe("npm run deploy", () => {
  it("npm run deploy makes nothing without secrets, then makes what is missing, and the second time only deploys", async () => {
    const stopped = await deploy("--env", "staging");
    expect(stopped.exitCode).toBe(1);
    expect(stopped.stderr).toContain("MASTER_KEY and ADMIN_TOKEN are not set");
    expect(fake.writes()).toEqual([]);

    const [command = ""] = stopped.stderr.split("\n").filter((line) => line.startsWith("  "));
    expect(command).toBe("  npm run secrets -- --env=staging");
    const { exitCode, stdout } = await run("sh", ["-e"], {
      env: { ...fake.environment, HOME: folder },
      input: `cd ${checkout} && ${command}`,
    });
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("has MASTER_KEY and ADMIN_TOKEN of")]);
    expect([...(fake.workers.get("agent-session-staging")?.secrets ?? [])]).toEqual(SECRETS);

    fake.calls.length = 0;
    const first = await deploy("--env=staging", "--location", "apac", "--var", "REPLAY_LOOK_MS:7");
    expect(first).toMatchObject({ exitCode: 0, stderr: "" });
    expect(first.stdout).toContain("Created database agent-session-staging near apac.");
    expect(first.stdout).toContain("https://agent-session-staging.fake.workers.dev");
    expect([...fake.databases.values()].map(({ name, location }) => [name, location])).toEqual([
      ["agent-session-staging", "apac"],
    ]);
    const migrations = migrationsOf("agent-session-staging");
    expect(migrations).toEqual(readdirSync(join(TOML, "../migrations")).filter((name) => name.endsWith(".sql")));
    expect(bindingsOf("agent-session-staging")).toEqual({
      DB: "agent-session-staging",
      NONCES: "agent-session-staging-nonces",
      CREDENTIALS: "agent-session-staging-credentials",
      EVENTS: "agent-session-staging-events",
      JOURNAL: "agent-session-staging-journal",
    });
    const staging = fake.workers.get("agent-session-staging");
    expect(staging?.crons).toEqual(["* * * * *", "*/5 * * * *"]);
    expect(first.stdout).toContain("Created queue agent-session-staging-events.");
    expect(queues()).toEqual({
      "agent-session-staging-events": ["agent-session-staging"],
      "agent-session-staging-journal": ["agent-session-staging"],
    });
    expect(staging?.versions.at(-1)?.find(({ name }) => name === "REPLAY_LOOK_MS")).toMatchObject({ text: "7" });
    expect([...fake.workers.keys()]).toEqual(["agent-session-staging"]);
    // The tables must exist before the version that reads them serves.
    const migrated = fake.calls.findLastIndex((call) => call.endsWith("/query"));
    expect(migrated).toBeGreaterThan(-1);
    expect(migrated).toBeLessThan(fake.calls.findIndex((call) => call.endsWith("/versions")));

    fake.rename((name) => name.replace("agent-session-staging", "agent-session"));
    fake.calls.length = 0;
    const versions = fake.workers.get("agent-session")?.versions.length ?? 0;
    // This deployment runs as a process of its own, which starts wrangler six times.
    const second = await run(process.execPath, [join(checkout, "src/tools/cli/deploy.ts"), "--location", "weur"], {
      env: fake.environment,
    });
    expect(second).toMatchObject({ exitCode: 0, stderr: "" });
    expect(second.stdout).toContain("agent-session is there already: --location has no effect");
    expect(second.stdout).toContain("https://agent-session.fake.workers.dev");
    expect(fake.calls).not.toContain("POST /d1/database");
    expect(fake.calls).not.toContain("POST /storage/kv/namespaces");
    expect(fake.calls).not.toContain("POST /queues");
    expect(queues()).toEqual({
      "agent-session-events": ["agent-session"],
      "agent-session-journal": ["agent-session"],
    });
    expect([fake.databases.size, fake.namespaces.size]).toEqual([1, 2]);
    expect(migrationsOf("agent-session")).toEqual(migrations);
    expect(bindingsOf("agent-session")).toEqual({
      DB: "agent-session",
      NONCES: "agent-session-nonces",
      CREDENTIALS: "agent-session-credentials",
      EVENTS: "agent-session-events",
      JOURNAL: "agent-session-journal",
    });
    expect(fake.workers.get("agent-session")?.versions).toHaveLength(versions + 1);
    expect([...fake.workers.keys()]).toEqual(["agent-session"]);
    expect(fake.unknown).toEqual([]);
  });

  it("npm run deploy names the one missing secret, also for a Worker of another name", async () => {
    fake.addWorker("another", ["MASTER_KEY"]);
    for (const stage of [[], ["--env", "staging"]]) {
      const { exitCode, stderr } = await deploy("--name", "another", ...stage);
      expect(exitCode).toBe(1);
      expect(stderr).toContain("Nothing was deployed: ADMIN_TOKEN is not set.");
      expect(stderr).toContain(`npm run secrets -- ${stage.length === 0 ? "" : "--env=staging "}--name=another\n`);
      expect(fake.writes()).toEqual([]);
    }
  });

  it.each([
    [["--dryrun"], "Unknown option '--dryrun'"],
    [["--env", "staging", "--locaton=apac"], "Unknown option '--locaton'"],
    [["staging"], "Unexpected argument 'staging'"],
    [["--location"], "'--location <value>' argument missing"],
  ])("npm run deploy refuses the option %j by name before any request to Cloudflare", async (args, says) => {
    const { exitCode, stdout, stderr } = await deploy(...args);
    expect(stderr).toContain(says);
    expect(stderr).toContain("The options are --home, --location, --jurisdiction,");
    expect([exitCode, stdout, fake.calls]).toEqual([2, "", []]);
  });

  it.each([
    [["--home", "apac", "--home", "oc"], "--home may be given once"],
    [["--home", "main"], "main is there already"],
    [["--home", "Apac"], "--home Apac is no name"],
    [["--home", "1st", "--location", "apac"], "--home 1st is no name"],
    [["--home", `a${"b".repeat(31)}`, "--location", "apac"], "is no name"],
    [["--home", "tokyo"], "Where shall home tokyo be? Add --location"],
    [["--home", "tokyo", "--location", "moon"], "--location moon is not one of weur, eeur,"],
    [["--home", "tokyo", "--jurisdiction", "jp"], "--jurisdiction jp is not one of eu, us, fedramp"],
    [["--home", "apac", "--location", "apac", "--jurisdiction", "eu"], "exclude each other"],
    [["--close", "apca", "--dry-run"], "There is no home apca. The homes are: main."],
    [["--open", "apca", "--dry-run"], "There is no home apca. The homes are: main."],
    [["--close", "main", "--open", "main"], "main: either --close or --open"],
    [["--home", "homes", "--location", "apac"], "No new home can be named homes"],
    [["--var", "CLOSED_HOMES:main"], "to close a home: npm run deploy -- --close NAME"],
    [["--var", "CLOSED_MAIN:"], "to close a home: npm run deploy -- --close NAME"],
    [["--var", "REPLAY_LOOK_MS:2", "--open", "main"], "set and delete a secret of what serves. Leave out --var."],
    [["--close", "main", "--older", "--drop-home", "apac"], "Leave out --drop-home, --older."],
    [["--drop-home", "main"], "The home main cannot be dropped"],
    [["--close", "main", "--home", "apac", "--tag", "v1"], "Leave out --home, --tag."],
    [["--var", "WEBHOOK_LOOPBACK:allow"], "--var WEBHOOK_LOOPBACK is for npm start"],
    [["--var", "ACCESS_CERTS_URL:http://localhost/certs"], "--var ACCESS_CERTS_URL is for npm start"],
  ])(
    "npm run deploy refuses %j with a reason, sends no request and does not change wrangler.toml",
    async (args, says) => {
      const before = readFileSync(TOML, "utf8");
      const { exitCode, stdout, stderr } = await deploy("--env", "staging", ...args);
      expect(stderr).toContain(says);
      expect([exitCode, stdout, fake.calls]).toEqual([2, "", []]);
      expect(readFileSync(TOML, "utf8")).toBe(before);
    },
  );

  it.each([
    [
      { code: 11002, message: "In order to use Queues, you must enable your account" },
      "switch them on in the dashboard",
    ],
    [{ code: 100129, message: "Queues are unavailable on the free plan." }, "or choose a plan that has them"],
    [{ code: 10000, message: "Authentication error" }, "The API token needs the permission Queues: Edit"],
  ])(
    "npm run deploy says what the account needs when it gets no queue because of %j, and makes nothing",
    async (refusal, says) => {
      fake.addWorker("agent-session", SECRETS);
      fake.queues.refused = refusal;
      const { exitCode, stderr } = await deploy();
      expect(stderr).toContain("Queue agent-session-events could not be created");
      expect(stderr).toContain(refusal.message);
      expect(stderr).toContain(says);
      expect(exitCode).toBe(1);
      expect(fake.writes()).toEqual(["POST /queues"]);
      expect([fake.databases.size, fake.workers.get("agent-session")?.versions.length]).toEqual([0, 1]);
    },
  );

  it("npm run deploy names the other Worker that consumes the queue, and makes nothing", async () => {
    fake.addWorker("another", SECRETS);
    fake.queues.add("agent-session-events", "agent-session");
    const { exitCode, stderr } = await deploy("--name", "another");
    expect(stderr).toContain("queue agent-session-events is read by the Worker agent-session");
    expect(stderr).toContain("npx wrangler queues consumer worker remove agent-session-events agent-session");
    expect([exitCode, fake.writes()]).toEqual([1, []]);
  });

  it("npm run deploy does nothing when npm kept options for itself, and names them", async () => {
    const options = ["--dry-run", "--env", "staging", "--var", "REPLAY_LOOK_MS:7"];
    const args = ["run", "--silent", "deploy", ...options];
    const { exitCode, stdout, stderr } = await run("npm", args, { env: fake.environment });
    expect(stderr).toContain(
      'npm kept --env, --var, --dry-run for itself. Options stand after "--": npm run deploy -- …',
    );
    expect([exitCode, stdout, fake.calls]).toEqual([2, "", []]);
  });

  it("npm run deploy --help lists options that wrangler deploy has, besides those for homes, places and older releases", async () => {
    const { exitCode, stdout } = await deploy("--help");
    expect([exitCode, fake.calls]).toEqual([0, []]);
    const { stdout: known } = await wrangler(["deploy", "--help"], { env: {}, root: checkout, input: "" });
    const ownOptions = ["--home", "--location", "--jurisdiction", "--drop-home", "--older", "--close", "--open"];
    const options = (stdout.match(/--[a-z][a-z-]+/g) ?? []).filter((option) => !ownOptions.includes(option));
    expect(options.length).toBeGreaterThan(10);
    for (const option of options) expect(known).toMatch(new RegExp(`${option}\\b`));
  });

  it("npm run deploy --dry-run builds and makes nothing, and the built Worker holds no documentation", async () => {
    const outdir = join(folder, "built");
    const before = readFileSync(TOML, "utf8");
    const closing = await deploy("--dry-run", "--close", "main");
    expect([closing.exitCode, closing.stdout]).toEqual([0, "Worker agent-session stays as it is: --dry-run.\n"]);
    const { exitCode, stdout } = await deploy("--dry-run", "--outdir", outdir, "--home", "apac");
    expect(readFileSync(TOML, "utf8")).toBe(before);
    expect([exitCode, fake.writes()]).toEqual([0, []]);
    expect(stdout).toContain("--dry-run: exiting now");
    const worker = readFileSync(join(outdir, "index.js"), "utf8");
    for (const { operation, documentation } of DOCUMENTED) {
      expect(worker).toContain(operation.wireName);
      expect(worker.includes(documentation.description)).toBe(false);
    }
  });

  it("npm run deploy stops with the message of the step that failed", async () => {
    fake.addWorker("agent-session", SECRETS);
    const location = await deploy("--location", "moon");
    expect(location.exitCode).toBe(1);
    expect(location.stderr).toContain("agent-session could not be created");
    expect(location.stderr).toContain('"moon"');
    expect(fake.writes()).toEqual(["POST /queues", "POST /queues"]);

    fake.addDatabase("agent-session", ["0000_older.sql", "0001_gone.sql"]);
    const older = await deploy();
    expect(older.exitCode).toBe(1);
    expect(older.stderr).toContain("Home main (DB) could not be migrated, so nothing was deployed");
    expect(older.stderr).toContain("it has 0000_older.sql, 0001_gone.sql");
    expect(older.stderr).toContain("npx wrangler d1 delete agent-session");
    expect(fake.workers.get("agent-session")?.versions).toHaveLength(1);
    expect(migrationsOf("agent-session")).toEqual(["0000_older.sql", "0001_gone.sql"]);

    fake.calls.length = 0;
    const stage = await deploy("--env", "nowhere");
    expect(stage.exitCode).toBe(1);
    expect(stage.stderr).toContain("nowhere");
    expect(fake.writes()).toEqual([]);
  });
});
