import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  beforeStep,
  type ErasureAnswer,
  erase,
  eraseWhole,
  fieldsOf,
  HOMES,
  overloaded,
  personText,
  placesOf,
  seedCustomer,
  withRefusingKv,
} from "../../support/customers.ts";
import { databaseOf } from "../../support/homes.ts";
import { replacing } from "../../support/replacing.ts";
import { settleForFree, settleHome, settleOnce } from "../../support/settle-home.ts";
import { forgetKept } from "../../support/site-end.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { NOW, World } from "../../support/world.ts";

/** The receipts of erasures: see docs/operating/data-and-restore.md, "Receipts". */

const DAY = 86_400;

beforeEach(forgetKept);
afterEach(() => void vi.restoreAllMocks());

/** The parts of receipts that the directory has of a site. */
async function receiptsOf({ siteId }: World) {
  const { results } = await env.DB.prepare(
    "SELECT at, listed_at, first_chat_id, chat_ids FROM erasure_receipts WHERE site_id = ? ORDER BY listed_at, first_chat_id",
  )
    .bind(siteId)
    .all<{ at: number; listed_at: number; first_chat_id: number; chat_ids: string }>();
  return results;
}

const chatIdsOf = async (world: World) =>
  (await receiptsOf(world)).map(({ chat_ids }) => JSON.parse(chat_ids) as number[]);

/** A hash made with an unknown key. */
const UNKNOWN_HASH = `ffffffff.${"0".repeat(64)}`;

const ofReceipts = (sql: string, { siteId }: World, ...values: unknown[]) =>
  env.DB.prepare(`${sql} WHERE site_id = ?`)
    .bind(...values, siteId)
    .run();
const loseKey = (world: World) => ofReceipts("UPDATE erasure_receipts SET hash = ?", world, UNKNOWN_HASH);
const forgetDirectory = (world: World) => ofReceipts("DELETE FROM erasure_receipts", world);
const kvOf = async ({ siteId, home }: World) =>
  (await env.CREDENTIALS.list<{ hash: string }>({ prefix: `erasures:${home}:${siteId}:` })).keys;
const forgetKv = async (world: World) => {
  for (const { name } of await kvOf(world)) await env.CREDENTIALS.delete(name);
};

/** The receipts that the first call of an erasure gives an operator. That call deletes nothing. */
const receiptsFor = async (world: World, sbs: string) =>
  ((await erase(world, { sbs })).body as ErasureAnswer).receipts ?? [];

/** Writes a part of another erasure's receipt into KV. */
const writeReceipt = ({ siteId, home }: World, id: number, value: string, metadata: unknown) =>
  env.CREDENTIALS.put(`erasures:${home}:${siteId}:${crypto.randomUUID()}:${NOW}:${id}`, value, { metadata });

/** A customer with one session, erased and then brought back by a restore of the home. */
async function erasedAndBack(world: World) {
  const text = personText();
  const id = await world.chatId(fieldsOf(text));
  const travelBack = await bookmarkDatabase(databaseOf(world.home));
  await eraseWhole(world, text);
  await travelBack();
  return { text, id };
}

describe("the receipts", () => {
  it("the receipts of an erasure are in the directory and in KV before anything is deleted", async () => {
    const world = await World.create({}, "apac");
    const text = personText();
    const id = await world.chatId(fieldsOf(text));
    const before = await world.stored();
    const HOME_APAC = beforeStep(env.HOME_APAC, overloaded);
    expect((await erase(world.anotherIsolate({ HOME_APAC }), { sbs: text })).status).toBe(503);
    expect(await world.stored()).toEqual(before);
    expect(await chatIdsOf(world)).toEqual([[id]]);
    const [key] = await kvOf(world);
    expect(await env.CREDENTIALS.get(String(key?.name), "json")).toEqual([id]);
    // The next call goes on where this one stopped.
    await eraseWhole(world, text);
    expect(await placesOf(text)).toEqual([]);
  });

  it.each(["KV", "the directory"])(
    "the erasure receipts in %s alone are enough to erase a customer again after a restore",
    async (place) => {
      const world = await World.create({}, "apac");
      const { text } = await erasedAndBack(world);
      await (place === "KV" ? forgetDirectory(world) : forgetKv(world));
      await settleHome(world, "apac");
      expect(await placesOf(text)).toEqual([]);
    },
  );

  it("the erasure receipts in KV name all erased sessions, even when an older call writes its shorter part last", async () => {
    const world = await World.create({}, "apac");
    const first = await world.chatId({ sbs: "x" });
    let last = 0;
    const put = async (key: string, value: string, options: KVNamespacePutOptions) => {
      if (last === 0 && key.startsWith("erasures:")) {
        last = await world.chatId({ sbs: "x" });
        const HOME_APAC = beforeStep(env.HOME_APAC, overloaded);
        expect((await erase(world.anotherIsolate({ HOME_APAC }), { sbs: "x" })).status).toBe(503);
      }
      await env.CREDENTIALS.put(key, value, options);
    };
    await eraseWhole(world.anotherIsolate({ CREDENTIALS: replacing(env.CREDENTIALS, { put }) }), "x");
    expect((await world.stored()).sessions).toEqual([]);
    const parts = (await kvOf(world)).map(({ name }) => env.CREDENTIALS.get<number[]>(name, "json"));
    expect(new Set((await Promise.all(parts)).flat())).toEqual(new Set([first, last]));
  });

  it("the parts of an erasure receipt in the directory and in KV are combined", async () => {
    const world = await World.create({}, "apac");
    const text = personText();
    const id = await world.chatId(fieldsOf(text));
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    const lostId = await world.chatId(fieldsOf(text));
    await eraseWhole(world, text);
    await travelBack();
    // The directory has only the second part, about sessions that the home has lost.
    await ofReceipts("UPDATE erasure_receipts SET chat_ids = ?, first_chat_id = ?", world, `[${lostId}]`, lostId);
    expect((await world.stored()).sessions).toMatchObject([{ id }]);
    await settleHome(world, "apac");
    expect(await placesOf(text)).toEqual([]);
  });

  it("the erasure receipts are written again when the directory lost them, and when they are half a day old", async () => {
    const world = await World.create({}, "apac");
    await seedCustomer(world, "slow", 600);
    await erase(world, { sbs: "slow" });
    const parts = async () => (await receiptsOf(world)).map(({ first_chat_id }) => first_chat_id).sort((a, b) => a - b);
    await forgetDirectory(world);
    await erase(world, { sbs: "slow" });
    expect(await parts()).toEqual([251]);
    world.clock.now = NOW + DAY;
    await erase(world, { sbs: "slow" });
    expect(await parts()).toEqual([251, 501]);
    expect((await world.stored()).sessions).toEqual([]);
  });

  it("reconciling a home writes its receipts again, for a second restore long after the first", async () => {
    const world = await World.create({}, "apac");
    const { id } = await erasedAndBack(world);
    world.clock.now = NOW + 29 * DAY;
    await settleHome(world, "apac");
    expect((await receiptsOf(world)).map(({ at }) => at).sort()).toEqual([NOW, NOW + 29 * DAY]);
    expect(await chatIdsOf(world)).toEqual([[id], [id]]);
    expect(await kvOf(world)).toHaveLength(2);
  });

  it.each(HOMES)(
    "without KV the operator gets the receipts, and the first call deletes nothing: a site in %s",
    async (home) => {
      const world = await World.create({ CREDENTIALS: undefined }, home);
      const text = personText();
      const id = await world.chatId(fieldsOf(text));
      const databases = new Set([env.DB, databaseOf(home)]);
      const travels = await Promise.all([...databases].map(bookmarkDatabase));
      const answers = await eraseWhole(world, text);
      expect(answers.map(({ erased, remaining }) => [erased.sessions, remaining])).toEqual([
        [0, 1],
        [1, 0],
      ]);
      const { receipts } = answers[0] ?? {};
      expect(receipts).toMatchObject([{ site_id: world.siteId, highest_chat_id: id, chat_ids: [id] }]);
      for (const travelBack of travels) await travelBack();
      await settleHome(world, home, { receipts });
      expect(await placesOf(text)).toEqual([]);
    },
  );

  it("the erasure receipts that an operator stored may be sent in several calls, in any order", async () => {
    const world = await World.create({ CREDENTIALS: undefined });
    await seedCustomer(world, "in parts", 10);
    const travelBack = await bookmarkDatabase(env.DB);
    await seedCustomer(world, "in parts", 1_090, 11);
    const receipts = await receiptsFor(world, "in parts");
    const ids = receipts.flatMap((receipt) => receipt.chat_ids);
    expect([receipts.length, ids]).toEqual([2, Array.from({ length: 1_100 }, (_, i) => i + 1)]);
    await travelBack();
    for (const receipt of receipts.toReversed()) await settleHome(world, "main", { receipts: [receipt] });
    expect((await world.stored()).sessions).toEqual([]);
  });

  it("the erasure receipts of the operator name the highest chat_id of the site, even when it belongs to another customer", async () => {
    const world = await World.create({ CREDENTIALS: undefined });
    const [id, others] = [await world.chatId({ sbs: "earlier" }), await world.chatId({ sbs: "later" })];
    const [answer] = await eraseWhole(world, "earlier");
    expect(answer?.receipts).toMatchObject([{ chat_ids: [id], highest_chat_id: others }]);
  });

  it("the operator gets erasure receipts once, and the erasure goes on even days later", async () => {
    const world = await World.create({ CREDENTIALS: undefined });
    await world.chatId({ sbs: "slow" });
    const counts: number[] = [];
    for (let day = 0; day < 2; day++) {
      world.clock.now = NOW + day * DAY;
      counts.push(((await erase(world, { sbs: "slow" })).body as ErasureAnswer).erased.sessions);
    }
    expect(counts).toEqual([0, 1]);
  });

  it("the operator gets erasure receipts again when new sessions came since", async () => {
    const world = await World.create({ CREDENTIALS: undefined });
    const ids = [await world.chatId({ sbs: "writes on" })];
    await erase(world, { sbs: "writes on" });
    ids.push(await world.chatId({ sbs: "writes on" }));
    const { body } = await erase(world, { sbs: "writes on" });
    const { erased, receipts } = body as ErasureAnswer;
    expect([erased.sessions, receipts?.flatMap(({ chat_ids }) => chat_ids)]).toEqual([0, ids]);
    expect(await eraseWhole(world, "writes on")).toMatchObject([{ erased: { sessions: 2 } }]);
  });

  it("the erasure receipts that the operator sent are stored, and the next call goes on without them", async () => {
    const world = await World.create({ CREDENTIALS: undefined }, "apac");
    const people = ["a", "b", "c"];
    for (const sbs of people) await world.chatId({ sbs });
    const travels = [await bookmarkDatabase(env.DB), await bookmarkDatabase(env.HOME_APAC)];
    const receipts: object[] = [];
    for (const sbs of people) receipts.push(...(await receiptsFor(world, sbs)));
    for (const travelBack of travels) await travelBack();
    expect(await settleForFree(world, "apac", { receipts })).toBe(3);
    expect((await world.stored()).customers).toEqual([]);
  });

  it("the erasure receipts that the operator sent while reconciling another home are used for their own home later", async () => {
    const world = await World.create({ CREDENTIALS: undefined }, "apac");
    await world.chatId({ sbs: "there" });
    const travels = [await bookmarkDatabase(env.DB), await bookmarkDatabase(env.HOME_APAC)];
    const receipts = await receiptsFor(world, "there");
    for (const travelBack of travels) await travelBack();
    expect(await settleHome(world, "main", { receipts })).toMatchObject([{ erased_again: 0 }]);
    expect(await settleHome(world, "apac")).toMatchObject([{ erased_again: 1, erasures_left: 0 }]);
    expect((await world.stored()).customers).toEqual([]);
  });

  it("a later call of an erasure answers with the id in the receipt when a restore has removed the customer", async () => {
    const world = await World.create({ CREDENTIALS: undefined });
    const travelBack = await bookmarkDatabase(env.DB);
    await world.chatId({ sbs: "x" });
    const { receipts, erasure_id } = (await erase(world, { sbs: "x" })).body as ErasureAnswer;
    await travelBack();
    expect(await settleHome(world, "main", { receipts })).toMatchObject([{ erased_again: 0 }]);
    expect(await erase(world, { sbs: "x" })).toMatchObject({ status: 200, body: { erasure_id } });
  });

  it("the erasure receipts in a restored main are used where no KV is bound", async () => {
    const world = await World.create({ CREDENTIALS: undefined });
    await seedCustomer(world, "half", 300);
    for (let i = 0; i < 2; i++) await erase(world, { sbs: "half" });
    // This is the state after a restore to this moment.
    expect((await world.stored()).sessions).toHaveLength(50);
    expect(await settleHome(world, "main")).toMatchObject([{ erased_again: 1, erasures_left: 0 }]);
    expect((await world.stored()).sessions).toEqual([]);
  });

  it("an erasure receipt whose hash has an unknown key erases nobody when its sessions belong to several customers", async () => {
    const world = await World.create({}, "apac");
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    for (let i = 0; i < 2; i++) await world.chatId({ sbs: "gone" });
    await eraseWhole(world, "gone");
    await travelBack();
    // The home was opened before it was reconciled, and the key was lost.
    await world.chatId({ sbs: "one" });
    await world.chatId({ sbs: "another" });
    await loseKey(world);
    const { body } = await settleOnce(world, "apac");
    expect(body).toMatchObject({ erased_again: 0, erasures_left: 1 });
    expect((await world.stored()).customers).toHaveLength(2);
  });

  it("a lost or malformed part of an erasure receipt in KV counts as an erasure that is left, and the log says so", async () => {
    const world = await World.create();
    const { text, id } = await erasedAndBack(world);
    const [part] = await kvOf(world);
    for (const value of ["[1,", '{"1":2}']) await writeReceipt(world, id, value, part?.metadata);
    const get = async (key: string, ...more: never[]) =>
      key === part?.name ? null : env.CREDENTIALS.get(key, ...more);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { body } = await settleOnce(world, "main", {}, { CREDENTIALS: replacing(env.CREDENTIALS, { get }) });
    expect(body).toMatchObject({ erased_again: 0, erasures_left: 3 });
    expect(warn.mock.calls.join().match(/a receipt in KV cannot be read/g)).toHaveLength(3);
    expect(await placesOf(text)).not.toEqual([]);
    expect((await settleOnce(world, "main")).body).toMatchObject({ erased_again: 1, erasures_left: 2 });
    expect(await placesOf(text)).toEqual([]);
  });

  it("an erasure receipt in KV without a valid hash or highest id counts as an erasure that is left, and the log says so", async () => {
    const world = await World.create();
    const { text, id } = await erasedAndBack(world);
    const [{ name, metadata } = { name: "", metadata: undefined }] = await kvOf(world);
    await env.CREDENTIALS.delete(name);
    const others = [undefined, { until: 9 }, { hash: "made up", until: 9 }, { hash: "made up" }];
    for (const value of [...others, { hash: metadata?.hash, until: id - 1 }])
      await writeReceipt(world, id, `[${id}]`, value);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { body } = await settleOnce(world, "main");
    expect(body).toMatchObject({ erased_again: 0, erasures_left: 5 });
    expect(warn.mock.calls.join().match(/a receipt (in KV cannot be read|contradicts itself)/g)).toHaveLength(5);
    await writeReceipt(world, id, `[${id}]`, metadata);
    expect((await settleOnce(world, "main")).body).toMatchObject({ erased_again: 1, erasures_left: 5 });
    expect(await placesOf(text)).toEqual([]);
  });

  it("an erasure receipt of a customer who has not come back erases nothing and is stored as done", async () => {
    const world = await World.create({}, "apac");
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    await world.chatId({ sbs: "x" });
    const [end] = await eraseWhole(world, "x");
    await travelBack();
    expect(await settleHome(world, "apac")).toMatchObject([{ erased_again: 0, erasures_left: 0 }]);
    const { status, body } = await erase(world, { sbs: "x" });
    expect([status, body]).toMatchObject([200, { erasure_id: end?.erasure_id, remaining: 0 }]);
  });

  it("a forged erasure receipt in KV can erase only a customer who was erased before and came back", async () => {
    const world = await World.create();
    await world.chatId({ sbs: "erased once" });
    await eraseWhole(world, "erased once");
    const [back, other] = [await world.chatId({ sbs: "erased once" }), await world.chatId({ sbs: "other" })];
    const [genuine] = await kvOf(world);
    const metadata = { hash: genuine?.metadata?.hash, until: other };
    await writeReceipt(world, back, `[${back},${other}]`, metadata);
    await settleHome(world, "main");
    expect((await world.stored()).sessions.map(({ id }) => id)).toEqual([other]);
  });

  it("a forged erasure receipt in KV erases nobody, also beside a receipt of the directory whose hash has an unknown key", async () => {
    const world = await World.create({}, "apac");
    const other = await world.chatId({ sbs: "other" });
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    await world.chatId({ sbs: "gone" });
    const [end] = await eraseWhole(world, "gone");
    await travelBack();
    await loseKey(world);
    await env.CREDENTIALS.put(`erasures:apac:${world.siteId}:${end?.erasure_id}:${NOW}:${other}`, `[${other}]`, {
      metadata: { hash: UNKNOWN_HASH, until: other },
    });
    await settleHome(world, "apac");
    expect((await world.stored()).sessions.map(({ id }) => id)).toEqual([other]);
  });

  it("an erasure receipt in KV whose hash has an unknown key erases nobody and counts as an erasure that is left", async () => {
    const world = await World.create();
    const id = await world.chatId({ sbs: "honest" });
    await writeReceipt(world, id, `[${id}]`, { hash: UNKNOWN_HASH, until: id });
    const { body } = await settleOnce(world, "main");
    expect(body).toMatchObject({ erased_again: 0, erasures_left: 1 });
    expect((await world.stored()).sessions).toMatchObject([{ id }]);
  });

  it("erasure receipts are written into KV first: when KV refuses them, the directory gets none", async () => {
    const world = await World.create({}, "apac");
    await world.chatId({ sbs: "x" });
    expect((await erase(withRefusingKv(world), { sbs: "x" })).status).toBe(503);
    expect(await receiptsOf(world)).toEqual([]);
  });

  it("erasure receipts stay in KV for one day longer than Time Travel reaches back", async () => {
    const world = await World.create();
    await world.chatId({ sbs: "x" });
    const puts: unknown[] = [];
    const put = (key: string, value: string, options?: KVNamespacePutOptions) => {
      if (key.startsWith("erasures:")) puts.push(options?.expirationTtl);
      return env.CREDENTIALS.put(key, value, options);
    };
    await eraseWhole(world.anotherIsolate({ CREDENTIALS: replacing(env.CREDENTIALS, { put }) }), "x");
    expect(puts).toEqual([31 * DAY]);
  });

  it("erasure receipts are read from every page of KV's list", async () => {
    const world = await World.create();
    for (const sbs of ["a", "b"]) await world.chatId({ sbs });
    const travelBack = await bookmarkDatabase(env.DB);
    for (const sbs of ["a", "b"]) await eraseWhole(world, sbs);
    await travelBack();
    const list = (options: KVNamespaceListOptions) => env.CREDENTIALS.list({ ...options, limit: 1 });
    const { body } = await settleOnce(world, "main", {}, { CREDENTIALS: replacing(env.CREDENTIALS, { list }) });
    expect(body).toMatchObject({ erased_again: 2, erasures_left: 0 });
  });

  it("erasure receipts in KV of a home whose name begins like this home's are not used", async () => {
    const world = await World.create();
    const name = `erasures:main2:${world.siteId}:${crypto.randomUUID()}:${NOW}:1`;
    await env.CREDENTIALS.put(name, "[1]", { metadata: { hash: UNKNOWN_HASH, until: 1 } });
    await world.chatId({ sbs: "x" });
    expect((await settleOnce(world, "main")).body).toMatchObject({ erased_again: 0, erasures_left: 0 });
  });

  it("erasure receipts are written again when the directory has only a piece of them", async () => {
    const world = await World.create({}, "apac");
    await seedCustomer(world, "x", 400);
    await erase(world, { sbs: "x" });
    const piece = JSON.stringify(Array.from({ length: 300 }, (_, i) => i + 1));
    await ofReceipts("UPDATE erasure_receipts SET chat_ids = ?", world, piece);
    world.clock.now = NOW + 60;
    await erase(world, { sbs: "x" });
    expect(new Set((await chatIdsOf(world)).flat()).size).toBe(400);
  });

  it("erasure receipts that the operator sends again are stored for longer", async () => {
    const world = await World.create({ CREDENTIALS: undefined });
    await world.chatId({ sbs: "x" });
    const travelBack = await bookmarkDatabase(env.DB);
    const receipts = await receiptsFor(world, "x");
    await travelBack();
    await settleOnce(world, "main", { receipts });
    world.clock.now = NOW + 20 * DAY;
    await settleOnce(world, "main", { receipts });
    expect((await receiptsOf(world)).find(({ listed_at }) => listed_at === 0)?.at).toBe(NOW + 20 * DAY);
  });

  it("erasure receipts that the operator sends in parts belong to one erasure, with one count", async () => {
    const world = await World.create({ CREDENTIALS: undefined });
    await seedCustomer(world, "x", 1);
    const travelBack = await bookmarkDatabase(env.DB);
    await seedCustomer(world, "x", 1, 2);
    const receipts = await receiptsFor(world, "x");
    await travelBack();
    await settleOnce(world, "main", { receipts });
    await seedCustomer(world, "x", 1, 2);
    await settleOnce(world, "main", { receipts });
    const row = await env.DB.prepare("SELECT sessions, total FROM erasures WHERE site_id = ?")
      .bind(world.siteId)
      .first();
    expect(row).toEqual({ sessions: 2, total: 2 });
  });

  it("erasure receipts in the directory that contradict the home's erasure erase nobody and count as left", async () => {
    const world = await World.create({}, "apac");
    await seedCustomer(world, "x", 300);
    await erase(world, { sbs: "x" });
    vi.spyOn(console, "warn").mockImplementation(() => {});
    await loseKey(world);
    await forgetKv(world);
    expect((await settleOnce(world, "apac")).body).toMatchObject({ erased_again: 0, erasures_left: 1 });
    expect((await world.stored()).sessions).toHaveLength(50);
  });

  it("erasure receipts cover all sessions up to the highest id of any part", async () => {
    const world = await World.create({}, "apac");
    const text = personText();
    for (let i = 0; i < 2; i++) await world.chatId(fieldsOf(text));
    const travelBack = await bookmarkDatabase(env.HOME_APAC);
    await eraseWhole(world, text);
    await travelBack();
    // An older part, from the time when the customer had one session.
    const columns = "home, site_id, erasure_id, listed_at, first_chat_id, at, hash, until, chat_ids";
    const older = `SELECT home, site_id, erasure_id, listed_at - 1, 1, at, hash, 1, '[1]' FROM erasure_receipts`;
    await ofReceipts(`INSERT INTO erasure_receipts (${columns}) ${older}`, world);
    await settleOnce(world, "apac");
    expect(await placesOf(text)).toEqual([]);
  });

  it("erasure receipts include later sessions when the home did not store that the first receipts are written", async () => {
    const world = await World.create({}, "apac");
    const first = await world.chatId({ sbs: "x" });
    const batch = (list: D1PreparedStatement[]) => {
      if (list.length === 2) throw new Error("D1_ERROR: D1 DB is overloaded.");
      return env.HOME_APAC.batch(list);
    };
    const deaf = world.anotherIsolate({ HOME_APAC: replacing(env.HOME_APAC, { batch }) });
    expect((await erase(deaf, { sbs: "x" })).status).toBe(503);
    expect(await chatIdsOf(world)).toEqual([[first]]);
    const last = await world.chatId({ sbs: "x" });
    await eraseWhole(world, "x");
    expect(await chatIdsOf(world)).toEqual([[first], [first, last]]);
  });
});
