import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { APP_LIMIT_PERIOD, CLIENT_LIMIT_PERIOD } from "../../src/rate-limit.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Of what wrangler makes of the file, what is looked at here by name. */
interface Config {
  definedEnvironments: string[];
  name: string;
  d1_databases: { database_name: string; database_id?: string }[];
  kv_namespaces: { binding: string; id?: string }[];
  ratelimits: { name: string; namespace_id: string; simple: { limit: number; period: number } }[];
  build: { watch_dir: string[] };
}

const read = (env: string): Config =>
  unstable_readConfig({ config: join(ROOT, "wrangler.toml"), env }, { hideWarnings: true });

/** The top level has no name. */
const STAGES = ["", ...read("").definedEnvironments];

/** All that makes two stages two: names, and ids that count in a whole account. */
function withoutNames(config: Config): unknown {
  const ids = ["database_name", "database_id", "preview_database_id", "namespace_id", "id", "preview_id"];
  const text = JSON.stringify({ ...config, name: "", targetEnvironment: "" }, (key, value) =>
    ids.includes(key) ? "" : value,
  );
  return JSON.parse(text);
}

describe("wrangler.toml", () => {
  it.each(STAGES.slice(1))(
    "has in stage %j all that the top level has, and nothing else, but for names and ids",
    (stage) => {
      expect(withoutNames(read(stage))).toEqual(withoutNames(read("")));
    },
  );

  it("gives no two stages the same Worker, database, namespace or count of requests", () => {
    const used = STAGES.flatMap((stage) => {
      const { name, d1_databases, kv_namespaces, ratelimits } = read(stage);
      return [
        `Worker ${name}`,
        ...d1_databases.map(({ database_name }) => `database ${database_name}`),
        ...d1_databases.flatMap(({ database_id: id }) => (id === undefined ? [] : [`database ${id}`])),
        ...kv_namespaces.flatMap(({ id }) => (id === undefined ? [] : [`namespace ${id}`])),
        ...ratelimits.map(({ namespace_id }) => `limit ${namespace_id}`),
      ];
    });
    expect(used.length).toBeGreaterThan(STAGES.length);
    expect(used.toSorted()).toEqual([...new Set(used)].toSorted());
  });

  it.each(STAGES)("counts requests over the periods that Retry-After tells, in stage %j", (stage) => {
    const periods = Object.fromEntries(read(stage).ratelimits.map(({ name, simple }) => [name, simple.period]));
    expect(periods).toMatchObject({ APP_LIMIT: APP_LIMIT_PERIOD, CLIENT_LIMIT: CLIENT_LIMIT_PERIOD });
  });

  it("builds anew after an edit of anything in src/ but assets/, where a build writes", () => {
    const sources = readdirSync(join(ROOT, "src")).filter((name) => name !== "assets");
    expect(read("").build.watch_dir.toSorted()).toEqual(sources.map((name) => `src/${name}`).toSorted());
  });
});
