import { drizzle } from "drizzle-orm/d1";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAgents } from "../../../src/operators/services/agents.ts";
import { findSite } from "../../../src/operators/services/sites.ts";
import { AUDIT_ACTIONS, auditLog } from "../../../src/operators/store/operator-schema.ts";
import { call, problem } from "../../support/admin-calls.ts";
import { databaseOf } from "../../support/homes.ts";
import { newToken } from "../../support/new-token.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, World } from "../../support/world.ts";

type Entry = Record<string, unknown> & { id: number; home: string; details: Record<string, unknown> };
type Page = { items: Entry[]; next_cursor: string | null };
type Row = typeof auditLog.$inferInsert;

const HOMES = ["main", "apac"];

// Some tests read the audit log of the whole deployment, so this file has storage of its own.
beforeEach(async () => {
  for (const home of HOMES) await databaseOf(home).exec("DELETE FROM audit_log");
});

const ROW = { siteId: null, at: NOW, actor: "admin-api", action: "site.renamed", subject: "s", details: "{}" } as const;
const ADA = { whoKind: "person", whoId: "ada@example.com", whoName: "ada@example.com" } as const;
const NIGHTLY = { whoKind: "token", whoId: "tok_1", whoName: "Nightly" } as const;
const ROOT = { whoKind: "root", whoId: "root", whoName: "ADMIN_TOKEN" } as const;

async function put(home: string, ...rows: Partial<Row>[]): Promise<void> {
  const db = drizzle(databaseOf(home));
  const [first, ...more] = rows.map((row) => db.insert(auditLog).values({ ...ROW, ...row }));
  if (first !== undefined) await db.batch([first, ...more]);
}

async function get(world: World, token: string, query: string): Promise<{ status: number; body: Page }> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await world.fetch(new Request(`http://worker/admin/audit?${query}`, { headers }));
  return { status: answer.status, body: await answer.json() };
}

/** A viewer's token: its reads leave no audit entry, unlike those of the root token. */
let viewer: string;
beforeAll(async () => {
  viewer = (await newToken({ role: "viewer" })).token;
});

/** All entries that match, read in pages of `limit`. */
async function listAll(world: World, query: Record<string, string | number> = {}, limit = 100): Promise<Entry[]> {
  const items: Entry[] = [];
  let cursor: string | null = null;
  do {
    const params = new URLSearchParams({ limit: String(limit), ...(cursor !== null && { cursor }) });
    for (const [name, value] of Object.entries(query)) params.set(name, String(value));
    const { status, body }: { status: number; body: Page } = await get(world, viewer, params.toString());
    expect(status).toBe(200);
    items.push(...body.items);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return items;
}

const placesOf = (items: Entry[]) => items.map(({ home, id }) => `${home}:${id}`);

describe("an entry of GET /admin/audit", () => {
  it("an audit entry names who made the change and from which network", async () => {
    const world = await World.create();
    const { token, id } = await newToken({ name: "Nightly export" });
    const rename = (by: string, name: string) =>
      world.fetch(
        new Request(`http://worker/admin/sites/${world.siteId}`, {
          method: "PATCH",
          headers: {
            authorization: `Bearer ${by}`,
            "content-type": "application/json",
            "cf-connecting-ip": "2001:db8:7:8::9",
          },
          body: JSON.stringify({ name }),
        }),
      );
    const answer = await rename(token, "New");
    expect(answer.status).toBe(200);
    const [entry] = await listAll(world, { site_id: world.siteId, action: "site.renamed" });
    expect(entry).toEqual({
      home: "main",
      id: expect.any(Number),
      site_id: world.siteId,
      at: NOW,
      actor: "admin-api",
      action: "site.renamed",
      subject: String(world.siteId),
      details: { from: "Site", to: "New" },
      request_id: answer.headers.get("x-request-id"),
      who: { kind: "token", id, name: "Nightly export" },
      address: "2001:db8:7::/48",
    });
  });

  it("an audit entry names root, a person or the Worker, and nobody for refused sign-ins and old rows", async () => {
    const world = await World.create();
    await databaseOf("main").exec("DELETE FROM audit_log");
    await put("main", ROOT, ADA, { actor: "worker", action: "webhook.disabled" }, { action: "operator.refused" }, {});
    const entries = await listAll(world);
    expect(entries.map(({ who, address }) => [who, address]).reverse()).toEqual([
      [{ kind: "root", id: "root", name: "ADMIN_TOKEN" }, null],
      [{ kind: "person", id: "ada@example.com", name: "ada@example.com" }, null],
      [{ kind: "worker", id: "worker", name: "worker" }, null],
      [null, null],
      [null, null],
    ]);
  });
});

describe("the filters of GET /admin/audit", () => {
  /** Rows 1 to 6 in main and 1 to 3 in apac. */
  async function fillWorld(): Promise<World> {
    const world = await World.create();
    for (const home of HOMES) await databaseOf(home).exec("DELETE FROM audit_log");
    await put(
      "main",

      { ...ROOT, at: NOW },
      { ...ADA, at: NOW + 2, action: "agent.added" as const, subject: "10411" },

      { ...NIGHTLY, at: NOW + 4, subject: "10411" },
      { actor: "worker" as const, at: NOW + 6 },
      { at: NOW + 8, action: "operator.refused" as const, subject: "ada@example.com" },
      { ...NIGHTLY, whoId: "tok_2", at: NOW + 10, subject: "%" },
    );
    const agents = { ids: [10411, 10412], names: ["77", "worker"] };
    await put(
      "apac",

      { ...ADA, at: NOW + 1 },
      { ...ROOT, at: NOW + 3, siteId: world.siteId },
      { ...ADA, at: NOW + 5, action: "agent.added", subject: "", details: JSON.stringify(agents) },
    );
    return world;
  }

  const FILTERS: [query: Record<string, string | number>, places: string[]][] = [
    [{ who: "ada@example.com" }, ["apac:3", "main:2", "apac:1"]],
    [{ who: "root" }, ["apac:2", "main:1"]],
    [{ who: "ADMIN_TOKEN" }, ["apac:2", "main:1"]],
    [{ who: "tok_1" }, ["main:3"]],
    [{ who: "Nightly" }, ["main:6", "main:3"]],
    [{ who: "worker" }, ["main:4"]],
    ...["ada", "%", "ADA@example.com", "tok_", "null"].map((who): [{ who: string }, string[]] => [{ who }, []]),
    [{ action: "agent.added" }, ["apac:3", "main:2"]],
    [{ action: "operator.refused" }, ["main:5"]],
    [{ subject: "10411" }, ["apac:3", "main:3", "main:2"]],
    [{ subject: "10412" }, ["apac:3"]],
    [{ subject: "%" }, ["main:6"]],
    // A part of an id or the name of an agent finds nothing.
    ...["1041", "77", "10411,10412"].map((subject): [{ subject: string }, string[]] => [{ subject }, []]),
    [{ since: NOW + 6 }, ["main:6", "main:5", "main:4"]],
    [{ until: NOW + 2 }, ["main:2", "apac:1", "main:1"]],
    [{ since: NOW + 2, until: NOW + 2 }, ["main:2"]],
    [{ since: NOW + 11 }, []],
    [{ who: "ada@example.com", action: "agent.added", subject: "10412", since: NOW + 5, until: NOW + 5 }, ["apac:3"]],
    [{ who: "root", subject: "10411" }, []],
  ];

  it("each filter of GET /admin/audit finds exactly the entries it names, in pages of any size", async () => {
    const world = await fillWorld();
    for (const [query, places] of FILTERS) {
      for (const limit of [2, 100]) {
        expect([query, placesOf(await listAll(world, query, limit))]).toEqual([query, places]);
      }
    }
  });

  it('GET /admin/audit combines the filters "who" and "site_id"', async () => {
    const world = await World.create({}, "apac");
    for (const home of HOMES) await databaseOf(home).exec("DELETE FROM audit_log");
    const ofSite = { siteId: world.siteId };
    await put("main", { ...ADA, ...ofSite }, ADA, { ...ROOT, ...ofSite });
    await put("apac", { ...ADA, ...ofSite, at: NOW + 1 }, { ...ADA, siteId: world.siteId + 1 });
    const query = { who: "ada@example.com", site_id: world.siteId };
    for (const limit of [1, 100]) expect(placesOf(await listAll(world, query, limit))).toEqual(["apac:1", "main:1"]);
  });

  const REFUSED: [query: string, field: string, message: string][] = [
    ["who=", "who", "must be a string of 1 to 320 characters"],
    [`who=${"x".repeat(321)}`, "who", "must be a string of 1 to 320 characters"],
    ["subject=", "subject", "must be a string of 1 to 320 characters"],
    ["action=", "action", `must be one of ${AUDIT_ACTIONS.join(", ")}`],
    ["action=site.painted", "action", `must be one of ${AUDIT_ACTIONS.join(", ")}`],
    ["site_id=0", "site_id", "must be a site's id"],
    ["since=yesterday", "since", "must be a Unix time in seconds"],
    ["until=-1", "until", "must be a Unix time in seconds"],
    [`since=${NOW + 1}&until=${NOW}`, "since", "must not be after until"],
  ];

  it("GET /admin/audit refuses a filter value that no entry can have", async () => {
    const world = await World.create();
    for (const [query, field, message] of REFUSED) {
      const { status, body } = await call(world, "GET", `/admin/audit?${query}`);
      expect([query, { status, body }]).toEqual([query, problem(400, "Invalid input", [{ field, message }])]);
    }
  });

  it('the filter "action" of GET /admin/audit accepts every action and finds only its entries', async () => {
    const world = await World.create();
    for (const home of HOMES) await databaseOf(home).exec("DELETE FROM audit_log");
    await put("apac", ...AUDIT_ACTIONS.map((action) => ({ action })));
    for (const [i, action] of AUDIT_ACTIONS.entries()) {
      expect([action, placesOf(await listAll(world, { action }))]).toEqual([action, [`apac:${i + 1}`]]);
    }
  });
});

describe("agents that are added together", () => {
  it("agents added together have one audit entry, found by each of their ids; a single agent has its own entry", async () => {
    const world = await World.create();
    const ctx = contextAt(NOW);
    const site = await findSite(ctx, world);
    const many = Array.from({ length: 100 }, (_, i) => ({ id: 10_400 + i, name: `Agent ${i}` }));
    await createAgents(ctx, { site, agents: many });
    await createAgents(ctx, { site, agents: [{ id: 7, name: "Alone" }] });
    const [alone, together, ...more] = await listAll(world, {
      site_id: world.siteId,
      action: "agent.added",
      since: NOW,
    });
    expect(alone).toMatchObject({ subject: "7", details: { name: "Alone" } });
    const [ids, names] = [many.map(({ id }) => id), many.map(({ name }) => name)];
    expect([together?.subject, together?.details]).toEqual(["", { ids, names }]);
    expect(more.filter(({ details }) => "ids" in details)).toEqual([]);
    for (const subject of ["10400", "10411", "10499"])
      expect(placesOf(await listAll(world, { subject }))).toEqual(placesOf(together ? [together] : []));
    expect(await listAll(world, { subject: "10500" })).toEqual([]);
  });

  it("adding several agents writes no audit entry when one of them exists already", async () => {
    const world = await World.create();
    const site = await findSite(contextAt(NOW), world);
    const before = await listAll(world);
    const agents = [
      { id: 900, name: "New" },
      { id: 1, name: "There" },
    ];
    await expect(createAgents(contextAt(NOW), { site, agents })).rejects.toMatchObject({ code: "conflict" });
    expect(await listAll(world)).toEqual(before);
  });
});

describe("an operator of one site", () => {
  async function start() {
    const [world, other] = [await World.create(), await World.create({}, "apac")];
    await put("main", { ...ROOT, siteId: null, at: NOW + 9 }, { ...ADA, siteId: other.siteId, at: NOW + 9 });
    await put("apac", { ...ADA, siteId: other.siteId, at: NOW + 9, subject: "secret" });
    const { token } = await newToken({ siteId: world.siteId, role: "viewer" });
    return { world, other, read: (query: string) => get(world, token, `limit=100&${query}`) };
  }

  it("an operator of one site sees only audit entries of that site, whatever the query asks for", async () => {
    const { world, read } = await start();
    const queries = ["who=ada@example.com", "subject=secret", `since=${NOW + 9}`, "action=site.renamed"];
    const cursors = ["", "cursor=apac:999999", "cursor=apac:999999,main:999999", "cursor=main:999999&who=root"];
    for (const query of [...queries, ...cursors]) {
      const { status, body } = await read(query);
      expect([query, status]).toEqual([query, 200]);
      expect(body.items.filter(({ site_id }) => site_id !== world.siteId)).toEqual([]);
      const isBegun = body.items.some(({ action }) => action === "site.begun");
      expect([query, isBegun]).toEqual([query, cursors.includes(query)]);
    }
  });

  it("an operator of one site gets 404 for another site's audit entries, as for an unknown site", async () => {
    const { world, other, read } = await start();
    const unknown = await read("site_id=999999");
    expect(unknown.status).toBe(404);
    expect(await read(`site_id=${other.siteId}`)).toEqual(unknown);
    expect((await read(`site_id=${world.siteId}`)).status).toBe(200);
  });
});
