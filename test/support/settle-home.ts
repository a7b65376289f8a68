import { env } from "cloudflare:workers";
import { call } from "./admin-calls.ts";
import { closedHomeVars } from "./closed-home-vars.ts";
import { countingDb } from "./counting-db.ts";
import type { ReplacedBindings } from "./isolate.ts";
import type { World } from "./world.ts";

interface Settled {
  erased_again: number;
  erasures_left: number;
}

/** Databases that refuse each query after 50 queries in total, as Workers Free does. */
export function freePlan<Bindings extends Record<string, D1Database>>(databases: Bindings): Bindings {
  let queries = 0;
  const countQueries = (count: number) => {
    queries += count;
    if (queries > 50) throw new Error("D1_ERROR: Too many API requests by single Worker invocation.");
  };
  const entries = Object.entries(databases).map(([name, db]) => [name, countingDb(db, { before: countQueries }).db]);
  return Object.fromEntries(entries) as Bindings;
}

/** Settles a home in an isolate for which it is closed. @param bindings of that isolate */
export const settleOnce = (world: World, home: string, more: object = {}, bindings: ReplacedBindings = {}) =>
  call(world.anotherIsolate({ ...closedHomeVars(home), ...bindings }), "POST", `/admin/homes/${home}/restored`, more);

/** Settles a closed home until nothing is left to erase. */
export async function settleHome(world: World, home: string, more: object = {}): Promise<Settled[]> {
  const answers: Settled[] = [];
  const settling_id = crypto.randomUUID();
  do {
    const { status, body } = await settleOnce(world, home, { settling_id, ...more });
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
    answers.push(body as Settled);
    if (answers.length > 20) throw new Error(`no end: ${JSON.stringify(body)}`);
  } while (answers.at(-1)?.erasures_left !== 0);
  return answers;
}

/**
 * Settles a closed home by calls of 50 queries each, as on Workers Free. Only the first call sends `more`.
 *
 * @returns how many sessions are erased again
 */
export async function settleForFree(world: World, home: string, more: object = {}): Promise<number> {
  const settling_id = crypto.randomUUID();
  let erasedCount = 0;
  for (let calls = 0; calls < 5; calls++) {
    const free = freePlan({ DB: env.DB, HOME_APAC: env.HOME_APAC });
    const { status, body } = await settleOnce(world, home, { settling_id, ...(calls === 0 && more) }, free);
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
    erasedCount += (body as Settled).erased_again;
    if ((body as Settled).erasures_left === 0) return erasedCount;
  }
  throw new Error("no end");
}
