import { env } from "cloudflare:workers";
import { call } from "./admin-calls.ts";
import { databaseOf } from "./homes.ts";
import { NOW } from "./test-runtime.ts";
import type { World } from "./world.ts";

/** The time at which all calls up to NOW are counted: their nonces have expired a minute before. */
export const COUNTED = NOW + 1_920;

/** The homes for `pruneAt`: most tests have only `main`. */
export const MAIN = new Map([["main", env.DB]]);

/**
 * Begins counting at NOW in both homes. Tests share the databases, and counting never goes back. So earlier counts and calls are
 * deleted, and earlier events are marked as counted. `folds` gets the row that the first run of the cron writes.
 */
export async function beginCounting(): Promise<void> {
  const countEvents = "INSERT OR REPLACE INTO counted_events SELECT site_id, max(seq) FROM events GROUP BY site_id";
  const tables = ["nonces", "refusals", "folds", "usage", "counters", "home_metrics", "site_metrics", "jobs"];
  const expiry = NOW - (COUNTED - NOW);
  const beginFolds = `INSERT INTO folds (id, nonces_until, refusals_until) VALUES (1, ${expiry}, ${expiry})`;
  const texts = [countEvents, ...tables.map((table) => `DELETE FROM ${table}`), beginFolds];
  await Promise.all([env.DB, env.HOME_APAC].map((db) => db.batch(texts.map((text) => db.prepare(text)))));
}

interface UsageAnswer {
  items: { at: number; appid: string; operation: string; outcome: string; count: number }[];
  apps: { appid: string; last_used_at: number | null; previous_secret_used_at: number | null }[];
  complete_until: number | null;
}

export async function readUsage(world: World, query = ""): Promise<UsageAnswer> {
  const { status, body } = await call(world, "GET", `/admin/sites/${world.siteId}/usage${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as UsageAnswer;
}

/** A site's usage in short: the number of calls by operation and outcome. */
export async function countsOf(world: World, query = ""): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { operation, outcome, count } of (await readUsage(world, query)).items) {
    const name = `${operation} ${outcome}`;
    counts[name] = (counts[name] ?? 0) + count;
  }
  return counts;
}

/** The samples of a scrape, by the text of their name and labels. */
export async function scrape(world: World, query = ""): Promise<Record<string, number>> {
  const response = await world.admin("GET", `/admin/metrics${query}`);
  const text = new TextDecoder().decode(await response.arrayBuffer());
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", value] = /^(.*) (.*)$/.exec(line) ?? [];
      return [name, value === "+Inf" ? Infinity : Number(value)];
    }),
  );
}

export async function storedUsage({ siteId, home }: Pick<World, "siteId" | "home">) {
  const rows = async (table: string) =>
    (await databaseOf(home).prepare(`SELECT * FROM ${table} WHERE site_id = ?`).bind(siteId).all()).results;
  return { hours: await rows("usage"), days: await rows("usage_days"), counters: await rows("counters") };
}
