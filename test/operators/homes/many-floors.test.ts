import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { call } from "../../support/admin-calls.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { databaseOf } from "../../support/homes.ts";
import { replacing } from "../../support/replacing.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { NOW, World } from "../../support/world.ts";

/** KV holds more floors of a home than one call reads. A call to KV takes 2.5 s, so a reconciliation reads two pages. */

const KV_MS = 2_500;
/** KV's own limit is a thousand. */
const PER_PAGE = 20;
const LIFT = 10;
/** The site's first floor in the order of KV: only a call that reads from the start finds it. */
const HIGHEST = 1_000_000;
/** An earlier release accepted a first_chat_id as high as this. */
const OLDER = 900_000_000_000_000;
const MORE_FLOORS = { status: 503, body: { detail: expect.stringContaining("more floors") } };
const FAILED = { status: 503, body: { detail: "KV does not answer." } };
const success = (lifted_by: number) => ({ status: 200, body: { lifted_by } });

let late = 0;
beforeEach(() => {
  const real = Date.now;
  late = 0;
  vi.spyOn(Date, "now").mockImplementation(() => real() + late);
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (let more = true; more; ) {
    const { keys, list_complete } = await env.CREDENTIALS.list({ prefix: "floors:" });
    for (const { name } of keys) await env.CREDENTIALS.delete(name);
    more = !list_complete;
  }
});

interface Answer {
  status: number;
  body: { detail?: string; lifted_by?: number };
  /** The calls for floors: the numbers of the listed pages, and the ids of reconciliations that were read. */
  calls: (number | string)[];
}

/** A site in a closed home, with five pages of floors in KV. */
async function start(home: string) {
  const world = await World.create({}, home);
  const prefix = `floors:${home}:`;
  const floors = [HIGHEST, ...Array.from({ length: PER_PAGE * 4.5 }, (_, i) => 200_000 + i)];
  for (const floor of floors) {
    const metadata = [world.siteId, floor, 0];
    await env.CREDENTIALS.put(`${prefix}site:${world.siteId}:${floor}`, "", { metadata });
  }
  const kv = { refuses: (_: Answer["calls"][number]): boolean => false };
  const calls: Answer["calls"] = [];
  const cursors: unknown[] = [null];
  const ask = (what: Answer["calls"][number]) => {
    late += KV_MS;
    calls.push(what);
    if (kv.refuses(what)) throw new Error("KV failed: 400 Bad Request");
  };
  const list: KVNamespace["list"] = async (options) => {
    if (options?.prefix !== prefix) return env.CREDENTIALS.list(options);
    ask(cursors.indexOf(options.cursor ?? null) + 1);
    const page = await env.CREDENTIALS.list({ ...options, limit: PER_PAGE });
    if (!page.list_complete && !cursors.includes(page.cursor)) cursors.push(page.cursor);
    return page as never;
  };
  const get = async (...asks: unknown[]) => {
    const [, id] = String(asks[0]).split(`${prefix}settling:`);
    if (id !== undefined) ask(id);
    return env.CREDENTIALS.get(...(asks as [string]));
  };
  const bindings = { ...closedHomeVars(home), CREDENTIALS: replacing(env.CREDENTIALS, { list, get }) };
  const settle = async (settling_id?: string, now = NOW): Promise<Answer> => {
    const isolate = world.anotherIsolate(bindings);
    isolate.clock.now = now;
    calls.length = 0;
    const body = { lift: LIFT, ...(settling_id && { settling_id }) };
    const answer = await call(isolate, "POST", `/admin/homes/${home}/restored`, body);
    return { status: answer.status, body: answer.body as Answer["body"], calls: [...calls] };
  };
  const one = (query: string, value: unknown) => databaseOf(home).prepare(query).bind(value);
  const floor = () =>
    one("SELECT chat_id_floor FROM home_sites WHERE site_id = ?", world.siteId).first<number>("chat_id_floor");
  const places = (id: string) => one("SELECT count(*) AS n FROM jobs WHERE name LIKE ?", `%${id}`).first<number>("n");
  const [x, y] = [crypto.randomUUID(), crypto.randomUUID()];
  return { world, prefix, bindings, settle, x, y, floor, places, kv };
}

it.each(["main", "apac"])(
  "reconciling %s reads floors where the last call stopped, and skips ids once, above all floors",
  async (home) => {
    const { world, settle, floor, places } = await start(home);
    const first = await settle();
    expect(first).toMatchObject({ ...MORE_FLOORS, calls: [1, 2] });
    const [, id = ""] = /"settling_id":"(\w+)"/.exec(first.body.detail ?? "") ?? [];
    expect([await floor(), await places(id)]).toEqual([HIGHEST, 1]);
    expect(await settle(id)).toMatchObject({ ...MORE_FLOORS, calls: [3, 4] });
    expect(await settle(id)).toMatchObject({ ...success(LIFT), calls: [5] });
    expect(await settle(id)).toMatchObject({ ...success(0), calls: [] });
    expect([await floor(), await places(id)]).toEqual([HIGHEST + LIFT, 0]);
    expect(await world.chatId()).toBe(HIGHEST + LIFT + 1);
  },
);

it("the reconciliation of a home goes on between two floors of the same page", async () => {
  const { world, prefix, settle, x, floor } = await start("apac");
  for (const id of ["A", "B", "C", "D"]) {
    const entries = [[world.siteId, id === "A" ? OLDER : HIGHEST, 0]];
    await env.CREDENTIALS.put(`${prefix}settling:${id}`, JSON.stringify(entries));
  }
  expect(await settle(x)).toMatchObject({ ...MORE_FLOORS, calls: [1, "A"] });
  expect(await settle(x)).toMatchObject({ ...MORE_FLOORS, calls: [1, "B"] });
  while ((await settle(x)).status === 503);
  expect(await floor()).toBe(OLDER + LIFT);
});

it("in the console, pressing again finishes the reconciliation, and a receipt pasted once is used at the end", async () => {
  const { world, bindings, floor } = await start("main");
  await world.chatId({ sbs: "mei" });
  const customers = async () =>
    (await env.DB.prepare("SELECT external_id FROM customers WHERE site_id = ?").bind(world.siteId).all()).results;
  const travelBack = await bookmarkDatabase(env.DB);
  const withoutKv = world.anotherIsolate({ CREDENTIALS: undefined });
  const erasure = await call(withoutKv, "POST", `/admin/sites/${world.siteId}/customers/erase`, { sbs: "mei" });
  const { receipts } = erasure.body as { receipts: unknown[] };
  await travelBack();
  const visitor = (await ConsoleVisitor.signedIn(world)).through(world.anotherIsolate(bindings));
  let page = await visitor.press(await visitor.open("/console/homes/main/restored"), "Go on…");
  const press = async (fill = {}) => visitor.press(page, "It was restored: skip now", fill);
  const form = { "Receipts of erasures and deletions": JSON.stringify(receipts) };
  for (const fill of [form, {}]) {
    page = await press(fill);
    expect(page.notices).toEqual([expect.stringMatching(/^Not done yet: .* Press it again/)]);
    expect(await customers()).toEqual([{ external_id: "mei" }]);
  }
  page = await press();
  expect(page.notices).toEqual(["The sites of the home main have skipped session numbers (chat_id)"]);
  expect([await floor(), await customers()]).toEqual([HIGHEST + 1_000_000, []]);
});

it("the reconciliation of a home respects a first_chat_id that is set while it goes on", async () => {
  const { world, settle, x, floor } = await start("main");
  expect(await settle(x)).toMatchObject({ ...MORE_FLOORS, calls: [1, 2] });
  const change = { first_chat_id: HIGHEST * 10 + 1 };
  expect((await call(world, "PATCH", `/admin/sites/${world.siteId}`, change)).status).toBe(200);
  expect(await settle(x)).toMatchObject(MORE_FLOORS);
  expect(await settle(x)).toMatchObject(success(LIFT));
  expect(await floor()).toBe(HIGHEST * 10 + LIFT);
});

it("each reconciliation of a home reads its own floors, and starts anew after another restore or 31 minutes", async () => {
  const { settle, x, y, floor } = await start("apac");
  const travelBack = await bookmarkDatabase(env.HOME_APAC);
  expect(await settle(x)).toMatchObject({ calls: [1, 2] });
  expect(await settle(y)).toMatchObject({ calls: [1, 2] });
  expect(await settle(x)).toMatchObject({ calls: [3, 4] });
  await travelBack();
  expect(await settle(x)).toMatchObject({ calls: [1, 2] });
  expect(await settle(x, NOW + 1_860)).toMatchObject({ calls: [1, 2] });
  expect(await settle(x, NOW + 1_860)).toMatchObject({ calls: [3, 4] });
  expect(await settle(y, NOW + 1_860)).toMatchObject({ calls: [1, 2] });
  for (const id of [x, y]) while ((await settle(id, NOW + 1_860)).status === 503);
  expect(await floor()).toBe(HIGHEST + 2 * LIFT);
});

it("the reconciliation of a home continues after a KV failure, and restarts when KV refuses only the cursor", async () => {
  const { settle, x, floor, kv } = await start("main");
  kv.refuses = (page) => page === 2;
  expect(await settle(x)).toMatchObject({ ...MORE_FLOORS, calls: [1, 2] });
  kv.refuses = () => true;
  expect(await settle(x)).toMatchObject({ ...FAILED, calls: [2, 1] });
  kv.refuses = () => false;
  expect(await settle(x)).toMatchObject({ ...MORE_FLOORS, calls: [2, 3] });
  kv.refuses = (page) => page === 4;
  expect(await settle(x)).toMatchObject({ ...MORE_FLOORS, calls: [4, 1] });
  kv.refuses = () => false;
  expect(await settle(x)).toMatchObject({ ...MORE_FLOORS, calls: [2, 3] });
  expect(await settle(x)).toMatchObject({ ...MORE_FLOORS, calls: [4, 5] });
  expect(await settle(x)).toMatchObject({ ...success(LIFT), calls: [5] });
  expect(await floor()).toBe(HIGHEST + LIFT);
});
