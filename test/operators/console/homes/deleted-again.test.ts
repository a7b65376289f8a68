import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { patchSite, pruneAll } from "../../../support/site-end.ts";
import { bookmarkDatabase } from "../../../support/time-travel.ts";
import { NOW, World } from "../../../support/world.ts";

/** Reconciling a home that was restored to a time before a site was deleted. */

const LIFT = "It was restored: skip now";
const RECEIPTS = "Receipts of erasures and deletions";

/** A closed home that was restored to a time before one of its sites was deleted. */
async function startRestored(home: string, bindings: { CREDENTIALS?: undefined } = {}) {
  const world = await World.create(bindings, home);
  await world.chatId();
  await patchSite(world, { status: "closed" });
  const visitor = await ConsoleVisitor.signedIn(world);
  const restore = await bookmarkDatabase(databaseOf(home));
  const site = `/console/sites/${world.siteId}`;
  const deletionPage = await visitor.press(await visitor.open(`${site}/delete`), "Delete this site now", {
    "The site's name": "Site",
  });
  await pruneAll(NOW);
  expect((await world.stored()).sessions).toEqual([]);
  await restore();
  expect((await world.stored()).sessions).toHaveLength(1);
  const owner = visitor.through(world.anotherIsolate(closedHomeVars(home)));
  const form = await owner.open(`/console/homes/${home}/restored`);
  return { world, owner, site, askPage: await owner.press(form, "Go on…"), receipt: deletionPage.code("receipt") };
}

describe("a restored home", () => {
  it("reconciling a home in the console deletes ended sites again, and shows how many", async () => {
    const { world, owner, askPage, site } = await startRestored("apac");
    const donePage = await owner.press(askPage, LIFT);
    expect(donePage.notices).toEqual(["The sites of the home apac have skipped session numbers (chat_id)"]);
    expect(donePage.text).toContain("Sites deleted again 1");
    await pruneAll(NOW);
    expect((await world.stored()).sessions).toEqual([]);
    expect((await owner.open(site)).notices).toContain("This site is deleted");
    const pageAgain = await owner.press(await owner.open(askPage.path), LIFT);
    expect(pageAgain.text).not.toContain("Sites deleted again");
  });
});

describe("a restored main without KV", () => {
  it("reconciling main without KV deletes sites again by a pasted receipt, also beside receipts of erasures", async () => {
    const { world, owner, askPage, receipt } = await startRestored("main", { CREDENTIALS: undefined });
    expect(askPage.text).toContain("and so do sites that were deleted");
    const erasure = { erasure_id: "x", site_id: 1, hash: "y", highest_chat_id: 1, chat_ids: [1] };
    const wrong = await owner.press(askPage, LIFT, { [RECEIPTS]: `${receipt}\n${JSON.stringify([erasure])}` });
    expect([wrong.status, wrong.error(RECEIPTS)]).toEqual([
      400,
      expect.stringMatching(/^Number 2 is not as it was shown: /),
    ]);
    const cutPage = await owner.press(askPage, LIFT, { [RECEIPTS]: receipt.replace(/"site_id":\d+/, '"site_id":0') });
    expect(cutPage.error(RECEIPTS)).toBe("Number 1 is not as it was shown: site_id");
    expect((await world.stored()).sessions).toHaveLength(1);
    const donePage = await owner.press(askPage, LIFT, { [RECEIPTS]: receipt });
    expect([donePage.status, donePage.text.includes("Sites deleted again 1")]).toEqual([200, true]);
    await pruneAll(NOW);
    expect((await world.stored()).sessions).toEqual([]);
    const status = await env.DB.prepare("SELECT status FROM sites WHERE id = ?").bind(world.siteId).first("status");
    expect(status).toBe("deleted");
  });
});
