import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { subtle } from "../machine/subtle.ts";
import { SimulatedD1 } from "../platform/d1.ts";
import { Database } from "../platform/database.ts";
import { KvTruth, SimulatedKv } from "../platform/kv.ts";
import { QueueTruth, SimulatedQueue } from "../platform/queue.ts";
import { SimulatedRateLimit } from "../platform/rate-limit.ts";
import { readMigrations } from "../world/cloud/new-database.ts";
import { type Cases, type Outcome, outcomesOf } from "./case.ts";
import { LISTS, type ListName } from "./cases/index.ts";
import type { QueuePlatform } from "./cases/queue.ts";
import { type Tables, usedTables } from "./cases/tables.ts";
import { type RealPlatform, startRealPlatform } from "./real-platform.ts";

const migrations = readMigrations().flatMap((text) => text.split("--> statement-breakpoint"));

/** A database that watches every table, as the world's homes watch most of theirs. */
function database(): Promise<Tables> {
  const store = new Database();
  const knownTables = new Set<string>();
  return usedTables({
    db: new SimulatedD1(store) as never,
    async create(...statements) {
      store.execute(statements.join(";\n"));
      const newTables = store.tables().filter((name) => !knownTables.has(name));
      for (const table of newTables) knownTables.add(table);
      store.watch(newTables);
    },
  });
}

/** A queue in real time; cases wait for its messages. */
function queuePlatform(): QueuePlatform {
  let handler: Parameters<QueuePlatform["consume"]>[0] = () => {};
  const truth = new QueueTruth(
    { name: "queue-1", maxBatchSize: 6, maxRetries: 3 },
    {
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
    queue: new SimulatedQueue(truth) as never,
    consume(consumer) {
      handler = consumer;
    },
  };
}

const limited = (limit: number, period: 10 | 60) => new SimulatedRateLimit({ limit, period }, Date.now);

const STAND_INS: Record<ListName, () => unknown> = {
  d1: database,
  service: async () => ({ ...(await database()), migrations }),
  kv: () => new SimulatedKv(new KvTruth(), Date.now),
  queue: queuePlatform,
  rateLimit: () => ({ two: limited(2, 10), three: limited(3, 60) }),
  subtle: () => subtle,
};

type Outcomes = Record<string, Outcome>;
const outcomes: Partial<Record<ListName, { real: Outcomes; simulated: Outcomes }>> = {};
let platform: RealPlatform;

beforeAll(async () => {
  platform = await startRealPlatform(migrations);
  const compare = async (list: ListName) => {
    const cases = LISTS[list] as Cases<unknown>;
    const [real, simulated] = await Promise.all([platform.outcomes(list), outcomesOf(cases, STAND_INS[list])]);
    outcomes[list] = { real, simulated };
  };
  // All lists run at once, because one case waits for a window of 10 s to end.
  await Promise.all((Object.keys(LISTS) as ListName[]).map(compare));
});
afterAll(() => platform.close());

describe.each(Object.keys(LISTS) as ListName[])("the stand-in for workerd: %s", (list) => {
  test.each(Object.keys(LISTS[list]))("the stand-in answers as workerd does: %s", (name) => {
    const { real, simulated } = outcomes[list] ?? {};
    expect(real?.[name]).toHaveProperty("gave");
    expect(simulated?.[name]).toEqual(real?.[name]);
    // The order of properties must be the same too.
    expect(JSON.stringify(simulated?.[name])).toBe(JSON.stringify(real?.[name]));
  });
});
