import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { firstRequestIdAt } from "../../../../src/core/request-id.ts";
import { journalOf } from "../../../support/journal.ts";
import { newRefusal } from "../../../support/new-refusal.ts";
import { newSite } from "../../../support/new-site.ts";
import { DAY, pruneAt } from "../../../support/site-end.ts";
import { NOW } from "../../../support/test-runtime.ts";

const runAt = (now: number, journalDays: number) =>
  pruneAt(now, { chunkRows: 3 }, new Map([["apac", env.HOME_APAC]]), { journalDays });

describe("pruning the journal", () => {
  it("pruning removes a refused call from the journal after JOURNAL_DAYS, to the second, in chunks", async () => {
    const [site, other] = [await newSite("apac"), await newSite("apac")];
    for (const age of [31 * DAY, 30 * DAY, 30 * DAY - 1, 29 * DAY, 0]) {
      for (const each of [site, other]) {
        await newRefusal(each, { requestId: firstRequestIdAt(NOW - age), at: NOW - age });
      }
    }
    await runAt(NOW, 30);
    const times = [NOW - 30 * DAY + 1, NOW - 29 * DAY, NOW];
    expect((await journalOf(site)).map(({ at }) => at)).toEqual(times);
    expect((await journalOf(other)).map(({ at }) => at)).toEqual(times);
    await runAt(NOW, 1);
    expect((await journalOf(site)).map(({ at }) => at)).toEqual([NOW]);
  });

  it("pruning the journal reads no row that stays", async () => {
    const site = await newSite("apac");
    for (let i = 0; i < 50; i++) await newRefusal(site, { requestId: firstRequestIdAt(NOW + i), at: NOW + i });
    const [plan] = await env.HOME_APAC.batch<{ detail: string }>([
      env.HOME_APAC.prepare(
        `EXPLAIN QUERY PLAN SELECT refusals.site_id, request_id FROM home_sites CROSS JOIN refusals
         WHERE refusals.site_id = home_sites.site_id AND request_id < ?`,
      ).bind(firstRequestIdAt(NOW)),
    ]);
    expect(plan?.results.map(({ detail }) => detail)).toContainEqual(
      expect.stringMatching(/SEARCH refusals USING PRIMARY KEY \(site_id=\? AND request_id<\?\)/),
    );
  });
});
