import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { call } from "../../support/admin-calls.ts";
import { countingDb } from "../../support/counting-db.ts";
import {
  type ErasureAnswer,
  erase,
  eraseWhole,
  fieldsOf,
  HOMES,
  personText,
  placesOf,
} from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { settleHome, settleOnce } from "../../support/settle-home.ts";
import {
  DAY,
  deleteSite,
  endSite,
  forgetKept,
  patchSite,
  pruneAt,
  pruneEnded,
  readSite,
  sitePath,
  tablesLeft,
} from "../../support/site-end.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { NOW, World } from "../../support/world.ts";

/** A restore must not bring a deleted site back: see docs/operating/data-and-restore.md, "Restoring a home". */

beforeEach(forgetKept);

async function usedSite(home: string, bindings = {}) {
  const world = await World.create(bindings, home);
  await newWebhook(world);
  const text = personText();
  await world.chatId(fieldsOf(text));
  return { world, text };
}

async function endAndPrune(world: World): Promise<void> {
  await endSite(world);
  await pruneEnded(NOW);
}

/** Expects that nothing is left of a site, and that it stays unknown. */
async function expectGone(world: World, text: string): Promise<void> {
  expect(await tablesLeft(world)).toEqual([]);
  expect(await placesOf(text)).toEqual([]);
  expect((await world.anotherIsolate().create()).status).toBe(401);
  expect((await readSite(world)).status).toBe("deleted");
}

describe.each(HOMES)("the home %s, restored after a site ended", (home) => {
  it("a home restored to before a site's end has no app of it when reconciled, and no row of it after the cron", async () => {
    const { world, text } = await usedSite(home);
    const neighbour = await World.create({}, home);
    const id = await neighbour.chatId();
    const travelBack = await bookmarkDatabase(databaseOf(home));
    await endAndPrune(world);
    for (let i = 0; i < 2; i++) {
      await travelBack();
      expect(await settleHome(world, home)).toMatchObject([{ sites_deleted_again: 1 }]);
      expect((await world.anotherIsolate().create()).status).toBe(401);
      expect((await patchSite(world, { status: "open" })).status).toBe(404);
      await pruneEnded(NOW);
      await expectGone(world, text);
      expect((await neighbour.anotherIsolate().add(id)).envelope).toMatchObject({ code: 1 });
    }
  });

  it("a home restored to the middle of a site's deletion goes on deleting it", async () => {
    const { world, text } = await usedSite(home);
    await endSite(world);
    const travelBack = await bookmarkDatabase(databaseOf(home));
    await pruneEnded(NOW);
    await travelBack();
    await settleHome(world, home);
    await pruneEnded(NOW);
    await expectGone(world, text);
  });

  it("a home restored to a time before a deleted site was made has nothing of that site", async () => {
    const travelBack = await bookmarkDatabase(databaseOf(home));
    const { world, text } = await usedSite(home);
    await endAndPrune(world);
    await travelBack();
    await settleHome(world, home);
    await pruneEnded(NOW);
    expect([await tablesLeft(world), await placesOf(text)]).toEqual([[], []]);
  });
});

describe("the directory, restored after a site of another home ended", () => {
  it("reconciling main learns of a deleted site from its home, and does not free its appids", async () => {
    const { world, text } = await usedSite("apac");
    const other = await World.create();
    const travelBack = await bookmarkDatabase(env.DB);
    await endAndPrune(world);
    await travelBack();
    expect((await readSite(world)).status).toBe("open");
    await settleHome(world, "main");
    await expectGone(world, text);
    const take = await call(other, "POST", `${sitePath(other)}/apps`, { name: "App", appid: world.appid });
    expect(take.status).toBe(409);
  });

  it("a restored directory removes the metrics and receipts of a deleted site again", async () => {
    const { world, text } = await usedSite("apac");
    const erasedText = personText();
    await world.chatId(fieldsOf(erasedText));
    await eraseWhole(world, fieldsOf(erasedText).sbs);
    await pruneAt(NOW);
    const travelBack = await bookmarkDatabase(env.DB);
    await endAndPrune(world);
    for (let i = 0; i < 2; i++) {
      await travelBack();
      const tablesWithRows = await tablesLeft(world);
      expect(tablesWithRows).toEqual(expect.arrayContaining(["main.erasure_receipts", "main.site_metrics"]));
      await settleHome(world, "main");
      await expectGone(world, text);
    }
  });

  it("reconciling main lets a running deletion of a site in apac go on", async () => {
    const { world, text } = await usedSite("apac");
    const travelBack = await bookmarkDatabase(env.DB);
    await endSite(world);
    await travelBack();
    await settleHome(world, "main");
    expect((await readSite(world)).status).toBe("deleting");
    await pruneEnded(NOW);
    await expectGone(world, text);
  });
});

describe("a deployment without KV", () => {
  it("without KV, deleting a site returns a receipt, and reconciling with it deletes the site again", async () => {
    const { world, text } = await usedSite("main", { CREDENTIALS: undefined });
    const travelBack = await bookmarkDatabase(env.DB);
    const { deletions } = (await endSite(world)).body as { deletions: unknown[] };
    expect(deletions).toEqual([
      { deletion_id: expect.any(String), site_id: world.siteId, hash: expect.stringMatching(/^[0-9a-f]{8}\./) },
    ]);
    await travelBack();
    expect((await settleOnce(world, "main", {})).body).toMatchObject({ sites_deleted_again: 0 });
    const { status, body } = await settleOnce(world, "main", { deletions });
    expect([status, body]).toMatchObject([200, { sites_deleted_again: 1 }]);
    await pruneEnded(NOW);
    await expectGone(world, text);
  });

  it("a deletion receipt with an unknown key is not stored when main does not have the site", async () => {
    const travelBack = await bookmarkDatabase(env.DB);
    const world = await World.create({ CREDENTIALS: undefined }, "apac");
    await travelBack();
    const unknown = { deletion_id: crypto.randomUUID(), site_id: world.siteId, hash: `ffffffff.${"0".repeat(64)}` };
    const answer = await settleOnce(world, "main", { deletions: [unknown] }, { HOME_APAC: undefined });
    expect(answer.status).toBe(200);
    const query = env.DB.prepare("SELECT home FROM site_deletions WHERE id = ?").bind(unknown.deletion_id);
    expect((await query.all()).results).toEqual([]);
  });

  it("reconciling a home refuses malformed deletions", async () => {
    const world = await World.create();
    for (const deletions of [[{ site_id: 1 }], [{ deletion_id: "x", site_id: 1 }], "all"]) {
      expect([deletions, (await settleOnce(world, "apac", { deletions })).status]).toEqual([deletions, 400]);
    }
  });
});

describe("a forged entry in KV", () => {
  it("a forged entry in KV ends no site", async () => {
    const { world } = await usedSite("apac");
    await endSite(await World.create({}, "apac"));
    const [foreign] = (await env.CREDENTIALS.list<{ hash: string }>({ prefix: "site-deletions:apac:" })).keys;
    for (const hash of ["", "none", foreign?.metadata?.hash]) {
      const key = `site-deletions:apac:${world.siteId}:${crypto.randomUUID()}`;
      await env.CREDENTIALS.put(key, "", { metadata: { hash, begunAt: NOW } });
    }
    await settleHome(world, "apac");
    await pruneEnded(NOW);
    expect((await world.stored()).sessions).toHaveLength(1);
    expect((await world.anotherIsolate().create()).status).toBe(200);
  });
});

describe("a second restore of main, long after a site ended", () => {
  it("reconciling a home writes the deletion of a site into KV again, for a second restore much later", async () => {
    const { world, text } = await usedSite("main");
    const travelBack = await bookmarkDatabase(env.DB);
    await endSite(world);
    await travelBack();
    const keys = async () => (await env.CREDENTIALS.list({ prefix: `site-deletions:main:${world.siteId}:` })).keys;
    const [first] = await keys();
    await env.CREDENTIALS.put(first?.name ?? "", "", { metadata: first?.metadata, expirationTtl: 3_600 });
    const [short] = await keys();
    await settleHome(world, "main");
    const [again] = await keys();
    expect(again?.expiration ?? 0).toBeGreaterThan((short?.expiration ?? 0) + 29 * 86_400);
    await pruneEnded(NOW);
    await expectGone(world, text);
  });
});

it("a site deletion in KV whose key is unknown counts as not done while the site exists", async () => {
  const { world } = await usedSite("apac");
  const key = `site-deletions:apac:${world.siteId}:${crypto.randomUUID()}`;
  await env.CREDENTIALS.put(key, "", { metadata: { hash: `ffffffff.${"0".repeat(64)}`, begunAt: NOW } });
  const { body } = await settleOnce(world, "apac");
  expect(body).toMatchObject({ erasures_left: 1, sites_deleted_again: 0 });
  expect((await world.stored()).sessions).toHaveLength(1);
  await env.CREDENTIALS.delete(key);
  expect((await settleOnce(world, "apac")).body).toMatchObject({ erasures_left: 0 });
});

it("the id of a deleted site is not given again by a restored directory", async () => {
  const travelBack = await bookmarkDatabase(env.DB);
  const { world } = await usedSite("apac");
  await endAndPrune(world);
  await travelBack();
  const madeSite = await call(world, "POST", "/admin/sites", { name: crypto.randomUUID(), home: "apac" });
  expect(madeSite).toMatchObject({ status: 409, body: { reason: "site_id_taken" } });
  await settleHome(world, "main");
  expect((await call(world, "POST", "/admin/sites", { name: crypto.randomUUID(), home: "apac" })).status).toBe(201);
});

it("reconciling a home makes no more queries when many of its sites have ended", async () => {
  const world = await World.create({}, "apac");
  const statements = async (sites: number) => {
    const rows = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT OR REPLACE INTO site_deletions SELECT 900000 + i, 'deletion ' || i, 'apac', 1, 1, 1 FROM n`;
    if (sites > 0) await env.DB.prepare(rows).bind(sites).run();
    let queryCount = 0;
    const before = (count: number) => {
      queryCount += count;
    };
    const bindings = { DB: countingDb(env.DB, { before }).db, HOME_APAC: countingDb(env.HOME_APAC, { before }).db };
    expect((await settleOnce(world, "apac", {}, bindings)).status).toBe(200);
    return queryCount;
  };
  await statements(0);
  const one = await statements(1);
  expect(await statements(120)).toBe(one);
});

it("a deletion that was begun and not stored goes on with the next call after main was reconciled", async () => {
  const travelBack = await bookmarkDatabase(env.DB);
  const { world, text } = await usedSite("apac");
  await patchSite(world, { status: "closed" });
  const insert = "INSERT INTO site_deletions VALUES (?, ?, 'apac', ?, NULL, NULL)";
  await env.HOME_APAC.prepare(insert).bind(world.siteId, crypto.randomUUID(), NOW).run();
  await travelBack();
  await settleHome(world, "main");
  expect((await readSite(world)).status).toBe("closed");
  expect((await deleteSite(world)).status).toBe(202);
  await pruneEnded(NOW);
  await expectGone(world, text);
});

it("receipts of erasures are not stored when their site has ended, in any home", async () => {
  const { world, text } = await usedSite("main", { CREDENTIALS: undefined });
  const { receipts } = (await erase(world, { sbs: text })).body as ErasureAnswer;
  expect(receipts).toHaveLength(1);
  await endAndPrune(world);
  for (const home of HOMES) {
    await settleHome(world, home, { receipts });
    expect(await tablesLeft(world)).toEqual([]);
  }
});

describe("an appid that another site got before a restore of the directory", () => {
  it("an appid that was freed and given to another site leads to that site after a restore of the directory", async () => {
    const { world } = await usedSite("apac");
    const other = await World.create({}, "apac");
    await endAndPrune(world);
    const travelBack = await bookmarkDatabase(env.DB);
    await pruneEnded(NOW + 31 * DAY);
    const answer = await call(other, "POST", `${sitePath(other)}/apps`, { name: "App", appid: world.appid });
    expect(answer.status).toBe(201);
    other.appid = world.appid;
    other.secret = (answer.body as { secret: string }).secret;
    await travelBack();
    await settleHome(other, "main");
    expect((await other.anotherIsolate().create()).status).toBe(200);
    await pruneEnded(NOW + 31 * DAY);
    expect((await other.anotherIsolate().create()).status).toBe(200);
  });
});

it("a site of main with the id of a deleted site of apac loses nothing and works", async () => {
  const { world } = await usedSite("main");
  const row = "INSERT INTO site_deletions VALUES (?, ?, 'apac', 1, 1, NULL)";
  await env.DB.prepare(row).bind(world.siteId, crypto.randomUUID()).run();
  const before = await world.stored();
  await pruneEnded(NOW);
  await settleHome(world, "main");
  await pruneEnded(NOW);
  expect(await world.stored()).toEqual(before);
  expect((await patchSite(world, { name: "Renamed" })).status).toBe(200);
  expect((await call(world, "POST", `${sitePath(world)}/apps`, { name: "App" })).status).toBe(201);
  const url = "https://hooks.example.com/";
  expect((await call(world, "POST", `${sitePath(world)}/webhooks`, { url })).status).toBe(201);
  expect((await world.anotherIsolate().create()).status).toBe(200);
});
