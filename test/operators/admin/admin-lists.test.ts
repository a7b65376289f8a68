import { beforeAll, describe, expect, it } from "vitest";
import { SESSION_PROPERTIES } from "../../../src/core/operations/describe-session.ts";
import { SESSION_STATUSES } from "../../../src/core/store/schema.ts";
import { type AdminAnswer, call, problem } from "../../support/admin-calls.ts";
import { seedSession } from "../../support/seed-session.ts";
import { NOW, World } from "../../support/world.ts";

type Page = { items: Record<string, unknown>[]; next_cursor: string | null; homes_down?: string[] };

const summary = ({ status, body }: AdminAnswer) => ({ status, body });
const bad = (field: string, message: string) => problem(400, "Invalid input", [{ field, message }]);

async function page(world: World, path: string): Promise<Page> {
  const answer = await call(world, "GET", path);
  expect(answer.status).toBe(200);
  const { homes_down, ...list } = answer.body as Page;
  expect(Object.keys(list)).toEqual(["items", "next_cursor"]);
  expect(homes_down).toEqual(path.startsWith("/admin/audit") ? [] : undefined);
  return list;
}

/** Follows a list's cursors to the end. @returns the size of each page, and all items */
async function walk(world: World, path: string, limit: number, cursor?: string) {
  const sizes: number[] = [];
  const items: Record<string, unknown>[] = [];
  let next: string | null = cursor ?? null;
  do {
    const query = new URLSearchParams({ limit: String(limit), ...(next !== null && { cursor: next }) });
    const list: Page = await page(world, `${path}${path.includes("?") ? "&" : "?"}${query}`);
    sizes.push(list.items.length);
    items.push(...list.items);
    next = list.next_cursor;
    if (sizes.length > 100) throw new Error("the list does not end");
  } while (next !== null);
  return { sizes, items };
}

/** A world's site with four more apps, agents and sessions. */
async function fillSite(): Promise<World> {
  const world = await World.create();
  for (let i = 0; i < 4; i++) {
    await call(world, "POST", `/admin/sites/${world.siteId}/apps`, { name: `App ${i}` });
    await call(world, "POST", `/admin/sites/${world.siteId}/agents`, { id: 100 - i, name: `Late ${i}` });
    await world.chatId({ sender_type: i % 2 === 0 ? 1 : 2 });
  }
  return world;
}

/** For calls that change nothing, and need nothing but a site. */
let shared: World;
beforeAll(async () => {
  shared = await World.create();
});

const sessionsPath = (world: World) => `/admin/sites/${world.siteId}/sessions`;
const ids = (items: Record<string, unknown>[], name: string) => items.map((item) => item[name]);

describe("GET /admin/sites", () => {
  it("GET /admin/sites lists sites by id, each once, over all pages", async () => {
    const first = await World.create();
    const names = ["b", "a", "c"];
    const madeIds: number[] = [];
    for (const name of names) {
      madeIds.push(((await call(first, "POST", "/admin/sites", { name })).body as { id: number }).id);
    }
    const before = String((madeIds[0] ?? 0) - 1);
    const { sizes, items } = await walk(first, "/admin/sites", 2, before);
    expect(sizes).toEqual([2, 1]);
    expect(items).toEqual(
      madeIds.map((id, i) => ({ id, name: names[i], home: "main", status: "open", created_at: NOW })),
    );
    const from = `/admin/sites?limit=100&cursor=${first.siteId - 1}`;
    expect(ids((await page(first, from)).items, "id")).toEqual(expect.arrayContaining([first.siteId, ...madeIds]));
  });
});

describe("GET /admin/sites/:site_id/apps", () => {
  it("the list of apps is sorted by appid, shows no secrets, and has each app once over all pages", async () => {
    const world = await fillSite();
    const rotation = await call(world, "POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 60 });
    await call(world, "DELETE", `/admin/apps/${world.appid}`);
    const path = `/admin/sites/${world.siteId}/apps`;
    const { sizes, items } = await walk(world, path, 2);
    expect(sizes).toEqual([2, 2, 1]);
    const appids = ids(items, "appid");
    expect(appids).toEqual([...new Set(appids)].sort());
    expect(items.find(({ appid }) => appid === world.appid)).toEqual({
      appid: world.appid,
      name: "App",
      version: (rotation.body as { version: string }).version,
      previous_expires_at: NOW + 60,
      revoked_at: NOW,
      created_at: NOW,
    });
    expect(items.filter(({ name }) => name === "App 0")).toMatchObject([
      { version: expect.stringMatching(/^[0-9a-f]{32}$/), previous_expires_at: null, revoked_at: null },
    ]);
    expect(JSON.stringify(items)).not.toMatch(/secret|v[12]\./);
  });
});

describe("GET /admin/sites/:site_id/agents", () => {
  it("the list of agents is sorted by id over all pages", async () => {
    const world = await fillSite();
    const { sizes, items } = await walk(world, `/admin/sites/${world.siteId}/agents`, 3);
    expect(sizes).toEqual([3, 3, 2]);
    expect(ids(items, "id")).toEqual([1, 2, 3, 4, 97, 98, 99, 100]);
    expect(items[3]).toEqual({ id: 4, name: "Agent 4", status: "disabled" });
    expect(items[4]).toEqual({ id: 97, name: "Late 3", status: "normal" });
  });
});

describe("GET /admin/sites/:site_id/sessions", () => {
  it("the list of sessions has the newest first over all pages", async () => {
    const world = await fillSite();
    const { sizes, items } = await walk(world, sessionsPath(world), 3);
    expect(sizes).toEqual([3, 1]);
    const chatIds = ids(items, "chat_id") as number[];
    expect(chatIds).toEqual(chatIds.toSorted((a, b) => b - a));
    expect(ids(items, "status")).toEqual(["replied", "waiting", "replied", "waiting"]);
    expect(items[0]).toEqual({
      chat_id: chatIds[0],
      kind: "ticket",
      status: "replied",
      responsible_agent_id: 1,
      customer: { sbs: "customer_001", name: "Customer Name" },
      created_at: NOW,
    });
  });

  it("the list of sessions filters by status over all pages", async () => {
    const world = await fillSite();
    const all = (await page(world, sessionsPath(world))).items;
    for (const status of ["waiting", "replied"]) {
      const { sizes, items } = await walk(world, `${sessionsPath(world)}?status=${status}`, 1);
      expect(sizes).toEqual([1, 1]);
      expect(items).toEqual(all.filter((session) => session.status === status));
    }
  });

  it("the list of sessions filters by customer, and by customer and status", async () => {
    const world = await fillSite();
    const chatId = await world.chatId({ sbs: "another & more", sender_type: 1 });
    const pageWith = (query: string) => page(world, `${sessionsPath(world)}?sbs=another%20%26%20more${query}`);
    expect(ids((await pageWith("")).items, "chat_id")).toEqual([chatId]);
    expect(ids((await pageWith("&status=waiting")).items, "chat_id")).toEqual([chatId]);
    expect((await pageWith("&status=replied")).items).toEqual([]);
    const { sizes } = await walk(world, `${sessionsPath(world)}?sbs=customer_001`, 3);
    expect(sizes).toEqual([3, 1]);
    expect((await page(world, `${sessionsPath(world)}?sbs=nobody`)).items).toEqual([]);
  });

  it("the list of sessions shows sessions of kind chat without a responsible agent", async () => {
    const world = await World.create();
    const chat_id = await seedSession(world, { kind: "chat", responsibleAgentId: null });
    expect((await page(world, sessionsPath(world))).items).toMatchObject([
      { chat_id, kind: "chat", responsible_agent_id: null, status: "waiting" },
    ]);
  });

  it("the list of sessions refuses an unknown status", async () => {
    for (const status of ["", "open", "WAITING"]) {
      expect(summary(await call(shared, "GET", `${sessionsPath(shared)}?status=${status}`))).toEqual(
        bad("status", `must be ${SESSION_STATUSES.join(" or ")}`),
      );
    }
  });
});

describe("GET /admin/sites/:site_id/sessions/:chat_id", () => {
  it("GET of a session gives everything that is stored of it", async () => {
    const world = await World.create();
    const content = "First sentence. <b>Second</b>\nmore";
    const chatId = await world.chatId({ title: "标题 😀", content, sender_type: 1, ip: "2001:db8::1", sbs: 1001 });
    await world.add(chatId);
    const answer = await call(world, "GET", `${sessionsPath(world)}/${chatId}`);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(Object.keys(answer.body as object)).toEqual(Object.keys(SESSION_PROPERTIES));
    expect(summary(answer)).toEqual({
      status: 200,
      body: expect.objectContaining({
        chat_id: chatId,
        kind: "ticket",
        status: "waiting",
        responsible_agent_id: 1,
        visitor_title: "标题 😀",
        agent_title: "标题 😀",
        auto_title: expect.any(String),
        metadata: {},
        created_at: NOW,
        customer: { sbs: "1001", name: "Customer Name", ip: "2001:db8::1" },
        participants: [
          { agent_id: 2, added_by: 1 },
          { agent_id: 3, added_by: 1 },
        ],
        messages: [{ sender: "visitor", sender_uid: null, content }],
      }),
    });
  });

  it("GET of a session gives the metadata that the caller sent", async () => {
    const world = await World.create();
    const metadata = { order: "A-17", "shop.plan": "<b>gold</b>" };
    const chatId = await seedSession(world, { metadata: JSON.stringify(metadata) });
    expect((await call(world, "GET", `${sessionsPath(world)}/${chatId}`)).body).toMatchObject({ metadata });
  });

  it("GET of a session shows missing values as null or as an empty list", async () => {
    const world = await World.create();
    const chatId = await seedSession(world, { kind: "chat", responsibleAgentId: null });
    expect((await call(world, "GET", `${sessionsPath(world)}/${chatId}`)).body).toMatchObject({
      kind: "chat",
      responsible_agent_id: null,
      visitor_title: null,
      agent_title: null,
      participants: [],
      messages: [],
    });
  });

  it("GET of a session names the sender of a message: the responsible agent, or 0 for the system", async () => {
    const world = await World.create();
    const senders = async (sender_type: number) => {
      const chatId = await world.chatId({ sender_type });
      const { body } = await call(world, "GET", `${sessionsPath(world)}/${chatId}`);
      return (body as { messages: unknown[] }).messages;
    };
    expect(await senders(2)).toMatchObject([{ sender: "agent", sender_uid: 1 }]);
    expect(await senders(3)).toMatchObject([{ sender: "agent", sender_uid: 0 }]);
  });

  it("GET of a session works when its agents no longer exist", async () => {
    const world = await World.create();
    const chatId = await seedSession(world, { responsibleAgentId: 4711 });
    expect(await call(world, "GET", `${sessionsPath(world)}/${chatId}`)).toMatchObject({
      status: 200,
      body: { responsible_agent_id: 4711 },
    });
  });

  it("GET of a session is 404 for an unknown or malformed id", async () => {
    const unknown = { ...problem(404, "Not found"), body: { detail: "There is no such session." } };
    for (const id of ["0", "-1", "1.5", "abc", "9007199254740992", "999999"])
      expect([id, summary(await call(shared, "GET", `${sessionsPath(shared)}/${id}`))]).toMatchObject([id, unknown]);
  });
});

describe("the lists of another site", () => {
  it("the lists of one site show nothing of another site", async () => {
    const [world, other] = [await fillSite(), await World.create()];
    const chatId = await world.chatId();
    expect(summary(await call(world, "GET", `${sessionsPath(other)}/${chatId}`))).toEqual(problem(404, "Not found"));
    expect((await page(world, sessionsPath(other))).items).toEqual([]);
    expect((await page(world, `${sessionsPath(other)}?sbs=customer_001`)).items).toEqual([]);
    expect((await page(world, `${sessionsPath(other)}?status=waiting`)).items).toEqual([]);
    expect(ids((await page(world, `/admin/sites/${other.siteId}/agents`)).items, "id")).toEqual([1, 2, 3, 4]);
    expect(ids((await page(world, `/admin/sites/${other.siteId}/apps`)).items, "appid")).toEqual([other.appid]);
  });
});

const LISTS: [name: string, path: (world: World) => string][] = [
  ["sites", () => "/admin/sites"],
  ["apps", ({ siteId }) => `/admin/sites/${siteId}/apps`],
  ["agents", ({ siteId }) => `/admin/sites/${siteId}/agents`],
  ["sessions", ({ siteId }) => `/admin/sites/${siteId}/sessions`],
  ["audit", () => "/admin/audit"],
];

describe.each(LISTS)("the list of %s", (name, path) => {
  it("each list of the admin API accepts a limit from 1 to 100", async () => {
    for (const query of ["limit=1", "limit=100", "limit=001"]) {
      expect((await call(shared, "GET", `${path(shared)}?${query}`)).status).toBe(200);
    }
    if (name !== "sessions") expect((await page(shared, `${path(shared)}?limit=1`)).items).toHaveLength(1);
  });

  it.each([
    ["limit", "must be an integer from 1 to 100", ["0", "101", "-1", "1.5", "ten", "", "1e1", " 5", "9999"]],
    // A misspelled filter is refused; it does not give the whole list.
    ["stauts", "is not a field of this call", ["waiting"]],
    ["cursor", "is not a next_cursor", ["", "%", "a b", "1'--", "../1", "x".repeat(65)]],
  ])("each list of the admin API refuses a wrong %s: it %s", async (field, message, values) => {
    for (const value of values) {
      const answer = await call(shared, "GET", `${path(shared)}?${field}=${encodeURIComponent(value)}`);
      expect([value, summary(answer)]).toEqual([value, bad(field, message)]);
    }
  });
});

describe("a page without a limit", () => {
  it("a page of a list has 20 items when the query names no limit, and a cursor when there are more", async () => {
    const world = await World.create();
    const add = (id: number) => call(world, "POST", `/admin/sites/${world.siteId}/agents`, { id, name: "N" });
    for (let id = 5; id <= 20; id++) await add(id);
    const path = `/admin/sites/${world.siteId}/agents`;
    expect(await page(world, path)).toMatchObject({ items: { length: 20 }, next_cursor: null });
    await add(21);
    expect(await page(world, path)).toMatchObject({ items: { length: 20 }, next_cursor: "20" });
    expect(await page(world, `${path}?cursor=20`)).toMatchObject({ items: [{ id: 21 }], next_cursor: null });
    expect(await page(world, `${path}?cursor=9999999999999999`)).toEqual({ items: [], next_cursor: null });
  });
});
