import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { SESSION_STATUSES } from "../../../../src/core/store/schema.ts";
import { selectSessionCounts } from "../../../../src/operators/store/home/sessions.ts";

const SESSIONS = 3_000;

const NONE = Object.fromEntries(SESSION_STATUSES.map((status) => [status, 0]));

/** Writes sessions of two sites in turn: four in each second, three of four waiting. */
async function seed(): Promise<void> {
  await env.DB.batch([
    env.DB.prepare(
      "INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at) VALUES (1, 'A', 'open', 0, 0, 0), (2, 'B', 'open', 0, 0, 0)",
    ),
    env.DB.prepare("INSERT INTO customers VALUES (1, 'c', 'C', '::1', 0, 0), (2, 'c', 'C', '::1', 0, 0)"),
    env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${SESSIONS})
      INSERT INTO sessions (id, site_id, appid, kind, customer_external_id, status, auto_title, created_at)
      SELECT i, 1 + i % 2, 'app', 'ticket', 'c', iif(i % 4 = 0, 'replied', 'waiting'), '', 1000 + i / 4 FROM n`,
    ),
  ]);
}

describe("counting sessions", () => {
  it("the count of sessions is right for any time, site and status, and reads no more rows than it counts", async () => {
    await seed();
    let read = 0;
    const counting = new Proxy(env.DB, {
      get(target, name) {
        if (name !== "batch") return Reflect.get(target, name).bind(target);
        return async (statements: D1PreparedStatement[]) => {
          const results = await target.batch(statements);
          read = results.reduce((sum, { meta }) => sum + meta.rows_read, 0);
          return results;
        };
      },
    });
    for (const since of [0, 1_000, 1_001, 1_377, 1_749, 1_750, 1_751, 9_999]) {
      for (const site of [1, 2]) {
        const { results } = await env.DB.prepare(
          "SELECT status, count(*) AS counted FROM sessions WHERE site_id = ? AND created_at >= ? GROUP BY status",
        )
          .bind(site, since)
          .all<{ status: string; counted: number }>();
        const naive = { ...NONE, ...Object.fromEntries(results.map(({ status, counted }) => [status, counted])) };
        expect([since, site, await selectSessionCounts(counting, site, [since])]).toEqual([since, site, [naive]]);
        const total = Object.values(naive).reduce((sum, each) => sum + each);
        // In addition to the counted rows, each status needs a binary search of twelve steps, with a few rows each.
        expect(read).toBeLessThan(total + 75 * SESSION_STATUSES.length);
      }
    }
  });

  it("the count of sessions is zero where there are none", async () => {
    const empty = await env.DB.prepare("SELECT coalesce(max(site_id), 0) + 10 AS id FROM sessions").first<number>("id");
    expect(await selectSessionCounts(env.DB, empty ?? 0, [0, 10])).toEqual([NONE, NONE]);
  });
});
