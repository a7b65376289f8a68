import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/d1";
import { describe, expect, it } from "vitest";
import { countEvents, selectUncounted } from "../../../../src/operators/store/usage/count-events.ts";
import {
  notePassed,
  passRefusals,
  selectCounted,
  skipHoursWithoutCalls,
} from "../../../../src/operators/store/usage/folds.ts";
import { NOW, World } from "../../../support/world.ts";

const db = env.DB;
const pass = (until: number) => notePassed(db, until).run();

describe("two runs of the cron at once", () => {
  it("two runs of the cron that find the same events count them once", async () => {
    const world = await World.create();
    await db
      .prepare(
        "INSERT INTO events (site_id, seq, id, type, created_at) VALUES (?1, 1, 'a', 'ping', ?2), (?1, 2, 'b', 'ping', ?2)",
      )
      .bind(world.siteId, NOW)
      .run();
    const events = await selectUncounted(db, 0, 10);
    for (let run = 0; run < 2; run++) await drizzle(db).batch(countEvents(db, events));
    const { results } = await db
      .prepare("SELECT site_id, count FROM counters WHERE name = 'events' ORDER BY site_id")
      .all();
    expect(results).toEqual([
      { site_id: 0, count: 2 },
      { site_id: world.siteId, count: 2 },
    ]);
  });

  it("a run of the cron never moves the counting back", async () => {
    await pass(NOW);
    const { refusalsUntil } = await selectCounted(db);
    const begin = Number(refusalsUntil);
    await pass(NOW + 600);
    await passRefusals(db, begin, begin + 300).run();
    await pass(NOW + 60);
    await passRefusals(db, begin, begin + 100).run();
    await skipHoursWithoutCalls(db, begin, begin + 200).run();
    expect(await selectCounted(db)).toEqual({ noncesUntil: begin + 600, refusalsUntil: begin + 300 });
  });
});
