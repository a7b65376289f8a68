import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { homeOfBinding, MAIN_HOME } from "../../../src/core/homes.ts";
import { CLIENT_LIMIT_PERIOD, LIMIT_PERIOD } from "../../../src/core/signed/rate-limit.ts";
import { closesHomes } from "../../../src/tools/cli/homes.ts";
import { withDatabase } from "../../../src/tools/cli/wrangler-toml.ts";
import { workerOptions } from "../../support/worker-options.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** The fields of wrangler's parsed configuration that these tests read by name. */
interface Config {
  definedEnvironments: string[];
  name: string;
  d1_databases: { binding: string; database_name: string; migrations_dir: string; database_id?: string }[];
  vars: Record<string, unknown>;
  kv_namespaces: { binding: string; id?: string }[];
  queues: { producers?: { binding: string; queue?: string }[]; consumers?: { queue: string }[] };
  ratelimits: { name: string; namespace_id: string; simple: { limit: number; period: number } }[];
  build: { watch_dir: string[] };
}

const read = (env: string, config = join(ROOT, "wrangler.toml")): Config =>
  unstable_readConfig({ config, env }, { hideWarnings: true });

/** The names of the stages. The top level has the name "". */
const STAGES = ["", ...read("").definedEnvironments];

/** Leaves out the settings that must differ between stages: names, ids and further homes. */
function withoutNames(config: Config): unknown {
  const databases = config.d1_databases.filter(({ binding }) =>
    [MAIN_HOME, undefined].includes(homeOfBinding(binding)),
  );
  const ids = ["database_name", "database_id", "preview_database_id", "namespace_id", "id", "preview_id", "queue"];
  const text = JSON.stringify({ ...config, name: "", targetEnvironment: "", d1_databases: databases }, (key, value) =>
    ids.includes(key) ? "" : value,
  );
  return JSON.parse(text);
}

describe("wrangler.toml", () => {
  it.each(STAGES.slice(1))(
    "stage %j has exactly the settings of the top level, except names, ids and further homes",
    (stage) => {
      expect(withoutNames(read(stage))).toEqual(withoutNames(read("")));
    },
  );

  it.each(STAGES)("stage %j binds the home main, and all of its homes have the same migrations", (stage) => {
    const homes = read(stage).d1_databases.filter(({ binding }) => homeOfBinding(binding) !== undefined);
    expect(homes.map(({ binding }) => binding)).toContain("DB");
    expect([...new Set(homes.map(({ migrations_dir }) => migrations_dir))]).toEqual(["migrations"]);
  });

  it.each(STAGES)("stage %j does not list closed homes, because an old checkout would open them", (stage) => {
    expect(Object.keys(read(stage).vars).filter(closesHomes)).toEqual([]);
  });

  it("no two stages have the same Worker, database, namespace, queue or rate limit", () => {
    const names = STAGES.flatMap((stage) => {
      const { name, d1_databases, kv_namespaces, queues, ratelimits } = read(stage);
      return [
        `Worker ${name}`,
        ...d1_databases.map(({ database_name }) => `database ${database_name}`),
        ...d1_databases.flatMap(({ database_id: id }) => (id === undefined ? [] : [`database ${id}`])),
        ...kv_namespaces.flatMap(({ id }) => (id === undefined ? [] : [`namespace ${id}`])),
        ...(queues.consumers ?? []).map(({ queue }) => `queue ${queue}`),
        ...ratelimits.map(({ namespace_id }) => `limit ${namespace_id}`),
      ];
    });
    expect(names.length).toBeGreaterThan(STAGES.length);
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  });

  it.each(STAGES)("stage %j consumes the queues to which it sends events and refused calls", (stage) => {
    const { producers = [], consumers = [] } = read(stage).queues;
    expect(producers.map(({ binding }) => binding)).toEqual(["EVENTS", "JOURNAL"]);
    expect(consumers.map(({ queue }) => queue)).toEqual(producers.map(({ queue }) => queue));
  });

  it.each(STAGES)("stage %j writes the journal with one consumer at a time, which retries for days", (stage) => {
    const journal = read(stage).queues.consumers?.find(({ queue }) => queue.endsWith("-journal"));
    expect(journal).toMatchObject({ max_batch_size: 100, max_concurrency: 1, max_retries: 100 });
  });

  it.each(STAGES)("stage %j lets no webhook post to the machine itself", (stage) => {
    expect(read(stage).vars).not.toHaveProperty("WEBHOOK_LOOPBACK");
  });

  it.each(STAGES)("stage %j counts requests over the periods that Retry-After names", (stage) => {
    const periods = Object.fromEntries(read(stage).ratelimits.map(({ name, simple }) => [name, simple.period]));
    expect(periods).toMatchObject({
      APP_LIMIT: LIMIT_PERIOD,
      SITE_LIMIT: LIMIT_PERIOD,
      CLIENT_LIMIT: CLIENT_LIMIT_PERIOD,
      TOKEN_CHANGES: LIMIT_PERIOD,
      TOKEN_READS: LIMIT_PERIOD,
    });
  });

  it("wrangler.toml may get another home without a change of the tests", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wrangler-config-"));
    const config = join(folder, "wrangler.toml");
    const block = { binding: "HOME_ADDED_BY_TEST", database_name: "added-by-test", migrations_dir: "migrations" };
    const before = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
    const toml = withDatabase(withDatabase(before, "", block), "staging", block);
    writeFileSync(config, toml);
    try {
      expect(read("", config).d1_databases.map(({ binding }) => binding)).toContain("HOME_ADDED_BY_TEST");
      const { d1Databases } = await workerOptions(config);
      expect(Object.keys(d1Databases)).toEqual(["DB", "HOME_APAC"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("an edit of docs/ or of a file in src/ starts a new build, but no edit of src/assets/, where builds write", () => {
    const sources = readdirSync(join(ROOT, "src")).filter((name) => name !== "assets");
    expect(read("").build.watch_dir.toSorted()).toEqual(["docs", ...sources.map((name) => `src/${name}`)].toSorted());
  });
});
