import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { subtle } from "../machine/subtle.ts";
import { SimulatedD1 } from "../platform/d1.ts";
import { Database } from "../platform/database.ts";
import { KvTruth, SimulatedKv } from "../platform/kv.ts";
import { QueueTruth, SimulatedQueue } from "../platform/queue.ts";
import { SimulatedRateLimit } from "../platform/rate-limit.ts";
import { type Cases, type Outcome, outcomesOf } from "./case.ts";
import { d1Cases, kvCases, queueCases, rateLimitCases, serviceCases, subtleCases, used } from "./cases/index.ts";
import type { QueuePlatform } from "./cases/queue.ts";
import { type RealPlatform, startRealPlatform } from "./real-platform.ts";
import type { ListName } from "./worker.ts";

const MIGRATIONS = join(import.meta.dirname, "../../../migrations");
const migrations = readdirSync(MIGRATIONS)
  .filter((name) => name.endsWith(".sql"))
  .sort()
  .flatMap((name) => readFileSync(join(MIGRATIONS, name), "utf8").split("--> statement-breakpoint"));

/** A database that watches every table, from the call that creates it on. */
class WatchedDatabase extends Database {
  readonly #known = new Set<string>();

  override transaction(statements: Parameters<Database["transaction"]>[0]) {
    const given = super.transaction(statements);
    const made = this.tables().filter((name) => !this.#known.has(name));
    for (const table of made) this.#known.add(table);
    this.watch(made);
    return given;
  }
}

const d1 = (database: Database) => new SimulatedD1(database) as unknown as D1Database;
const limit = (calls: number, period: 10 | 60) =>
  new SimulatedRateLimit({ limit: calls, period }, Date.now) as unknown as RateLimit;

/** A queue in real time; cases wait for its messages. */
function queuePlatform(): QueuePlatform {
  let handler: Parameters<QueuePlatform["consume"]>[0] = () => {};
  const truth = new QueueTruth(
    { name: "queue-1", maxBatchSize: 6, maxRetries: 3 },
    {
      now: Date.now,
      after: (milliseconds, run) => setTimeout(run, milliseconds).unref(),
      newId: () => randomBytes(16).toString("hex"),
      concurrency: 1,
      async consume(batch) {
        try {
          await handler(batch as never, () => {});
          return true;
        } catch {
          return false;
        }
      },
    },
  );
  return {
    queue: new SimulatedQueue(truth) as unknown as Queue,
    consume(given) {
      handler = given;
    },
  };
}

let platform: RealPlatform;
const lists: (() => Promise<void>)[] = [];
beforeAll(async () => {
  platform = await startRealPlatform(migrations);
  // All lists run at once, because one case waits for a window of 10 s to end.
  await Promise.all(lists.map((run) => run()));
});
afterAll(() => platform.close());

/**
 * Makes a test of each case in a list: the stand-in must return what the real platform returns, with properties in the
 * same order.
 */
function alike<Platform>(list: ListName, cases: Cases<Platform>, standIn: () => Platform | Promise<Platform>): void {
  let real: Record<string, Outcome>;
  let simulated: Record<string, Outcome>;
  lists.push(async () => {
    [real, simulated] = await Promise.all([platform.outcomes(list), outcomesOf(cases, standIn)]);
  });
  test.each(Object.keys(cases))("%s", (name) => {
    expect(real[name]).not.toHaveProperty("threw");
    expect(simulated[name]).toEqual(real[name]);
    expect(JSON.stringify(simulated[name])).toBe(JSON.stringify(real[name]));
  });
}

const watched = () => used(d1(new WatchedDatabase()));
const plain = () => used(d1(new Database()));

describe("the simulated D1 answers as D1", () => alike("d1", d1Cases, plain));
describe("a watched database answers as D1", () => alike("d1", d1Cases, watched));
describe("the service's statements give the same on the simulated D1", () =>
  alike("service", serviceCases, async () => ({ db: await plain(), migrations })));
describe("the service's statements give the same on a watched database", () =>
  alike("service", serviceCases, async () => ({ db: await watched(), migrations })));
describe("the simulated KV answers as KV", () =>
  alike("kv", kvCases, () => new SimulatedKv(new KvTruth(), Date.now) as unknown as KVNamespace));
describe("the simulated queue hands over as workerd's", () => alike("queue", queueCases, queuePlatform));
describe("the simulated rate limit counts as workerd's", () =>
  alike("rateLimit", rateLimitCases, () => ({ two: limit(2, 10), three: limit(3, 60) })));
describe("the simulated WebCrypto answers as workerd's", () =>
  alike("subtle", subtleCases, () => subtle as unknown as SubtleCrypto));
