import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import {
  auditOfErasures,
  beforeStep,
  erase,
  eraseWhole,
  fieldsOf,
  HOMES,
  overloaded,
  personText,
  placesOf,
  seedCustomer,
} from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { settleForFree, settleHome, settleOnce } from "../../support/settle-home.ts";
import { forgetKept } from "../../support/site-end.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { eventStore } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

/** A restore must not bring an erased customer back: see docs/operating/data-and-restore.md, "Restoring a home". receipts.test.ts tests the receipts. */

beforeEach(forgetKept);

describe.each(HOMES)("the home %s, restored to before an erasure", (home) => {
  it("after each reconciliation a restored home has no erased customers, but all others", async () => {
    const world = await World.create({}, home);
    await newWebhook(world);
    const text = personText();
    const other = await world.chatId({ sbs: "other" });
    await world.chatId(fieldsOf(text));
    const travelBack = await bookmarkDatabase(databaseOf(home));
    await eraseWhole(world, text);
    for (let restore = 0; restore < 2; restore++) {
      await travelBack();
      expect(await settleHome(world, home)).toMatchObject([{ erased_again: 1, erasures_left: 0 }]);
      expect(await placesOf(text)).toEqual([]);
      expect((await world.stored()).sessions.map(({ id }) => id)).toEqual([other]);
      const erasedEvents = (await eventStore(world)).events.filter(({ type }) => type === "session.erased");
      expect(erasedEvents).toHaveLength(1);
      expect((await auditOfErasures(world)).map(({ action }) => action)).toEqual(["customer.erased"]);
    }
    // The home stores this, and a further reconciliation finds nothing to do.
    expect((await erase(world, { sbs: text })).body).toMatchObject({ erased: { sessions: 0 }, remaining: 0 });
    expect(await settleHome(world, home)).toMatchObject([{ erased_again: 0, erasures_left: 0 }]);
  });

  it("reconciling a home continues an erasure that the restore cut in the middle", async () => {
    const world = await World.create({}, home);
    const text = personText();
    await seedCustomer(world, text, 300);
    await erase(world, { sbs: text });
    const travelBack = await bookmarkDatabase(databaseOf(home));
    await eraseWhole(world, text);
    await travelBack();
    expect((await world.stored()).sessions).toHaveLength(50);
    await settleHome(world, home);
    expect(await placesOf(text)).toEqual([]);
  });

  it("reconciling a home takes several calls on Workers Free, which allows 50 queries per call", async () => {
    const world = await World.create({}, home);
    const people = ["a", "b", "c"];
    for (const sbs of people) await world.chatId({ sbs });
    const travelBack = await bookmarkDatabase(databaseOf(home));
    for (const sbs of people) await eraseWhole(world, sbs);
    await travelBack();
    expect(await settleForFree(world, home)).toBe(3);
    expect((await world.stored()).customers).toEqual([]);
  });

  it("reconciling a home does not erase a customer whose session has the id of an erased one", async () => {
    const world = await World.create({}, home);
    const text = personText();
    const travelBack = await bookmarkDatabase(databaseOf(home));
    const id = await world.chatId(fieldsOf(text));
    await eraseWhole(world, text);
    await travelBack();
    // The home was opened before it was reconciled.
    expect(await world.chatId({ sbs: "another" })).toBe(id);
    await settleHome(world, home);
    expect((await world.stored()).sessions).toMatchObject([{ id, customer_external_id: "another" }]);
  });
});

describe("a home restored to the middle of an erasure", () => {
  it.each(HOMES)(
    "reconciling a home also erases sessions between a failed and a successful erasure: restored %s",
    async (home) => {
      const world = await World.create({}, home);
      const db = databaseOf(home);
      const text = personText();
      await world.chatId(fieldsOf(text));
      const refusing = { [home === "main" ? "DB" : "HOME_APAC"]: beforeStep(db, overloaded) };
      expect((await erase(world.anotherIsolate(refusing), { sbs: text })).status).toBe(503);
      await world.chatId(fieldsOf(text));
      const travelBack = await bookmarkDatabase(db);
      await eraseWhole(world, text);
      expect(await placesOf(text)).toEqual([]);
      await travelBack();
      const { body } = await settleOnce(world, home);
      expect(body).toMatchObject({ erasures_left: 0 });
      expect(await placesOf(text)).toEqual([]);
    },
  );

  it("reconciling a home does not write receipts again while they are fresh", async () => {
    const world = await World.create({}, "apac");
    await seedCustomer(world, "x", 300);
    await erase(world, { sbs: "x" });
    world.clock.now = NOW + 3_600;
    await settleOnce(world, "apac");
    expect((await world.stored()).sessions).toEqual([]);
    const { results } = await env.DB.prepare("SELECT listed_at FROM erasure_receipts WHERE site_id = ?")
      .bind(world.siteId)
      .all();
    expect(results).toEqual([{ listed_at: NOW }]);
  });

  it("the count of an erasure after a restore leaves out new sessions of a customer who came back", async () => {
    const world = await World.create();
    await world.chatId({ sbs: "x" });
    const travelBack = await bookmarkDatabase(env.DB);
    await eraseWhole(world, "x");
    await travelBack();
    const back = await world.chatId({ sbs: "x" });
    await settleOnce(world, "main");
    const row = await env.DB.prepare("SELECT sessions, total FROM erasures WHERE site_id = ?")
      .bind(world.siteId)
      .first();
    expect([row, (await world.stored()).sessions.map(({ id }) => id)]).toEqual([{ sessions: 1, total: 1 }, [back]]);
  });

  it("reconciling a home ignores receipts of a site that the restore has undone", async () => {
    const travelBack = await bookmarkDatabase(env.DB);
    const world = await World.create();
    await world.chatId({ sbs: "x" });
    await eraseWhole(world, "x");
    await travelBack();
    const { status, body } = await settleOnce(world, "main");
    expect([status, body]).toMatchObject([200, { erasures_left: 0 }]);
    const { results } = await env.DB.prepare("SELECT id FROM erasures WHERE site_id = ?").bind(world.siteId).all();
    expect(results).toEqual([]);
  });
});
