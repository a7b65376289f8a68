import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/core/errors.ts";
import { fieldIssues } from "../../../src/core/fields.ts";
import { issueApp } from "../../../src/operators/services/apps.ts";
import {
  changeSite,
  createSite,
  findSite,
  newSiteSchema,
  siteChangeSchema,
} from "../../../src/operators/services/sites.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { downDb } from "../../support/down-db.ts";
import { FAULTS, Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { databaseOf } from "../../support/homes.ts";
import { replacing } from "../../support/replacing.ts";
import { seedAgents } from "../../support/seed-agents.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

type Row = Record<string, unknown>;

const HOMES = ["main", "apac"] as const;

const readRows = async (db: D1Database, table: "sites" | "home_sites", name: string): Promise<Row[]> =>
  (await db.prepare(`SELECT * FROM ${table} WHERE name = ? ORDER BY 1`).bind(name).all<Row>()).results;

/** The rows of sites with this name, in the directory and in both homes. */
async function rowsOf(name: string) {
  const [directory, main, apac] = await Promise.all([
    readRows(env.DB, "sites", name),
    readRows(env.DB, "home_sites", name),
    readRows(env.HOME_APAC, "home_sites", name),
  ]);
  return { directory, main, apac };
}

async function auditOf(home: string, siteId: number): Promise<Row[]> {
  const query = "SELECT action, subject, details, at, actor FROM audit_log WHERE site_id = ? AND action LIKE 'site.%'";
  const { results } = await databaseOf(home).prepare(`${query} ORDER BY id`).bind(siteId).all<Row>();
  return results.map(({ details, ...row }) => ({ ...row, details: JSON.parse(String(details)) }));
}

async function refusalOf(call: Promise<unknown>): Promise<ServiceError> {
  const fault: unknown = await call.catch((error: unknown) => error);
  if (!(fault instanceof ServiceError)) throw new Error(`not a ServiceError: ${String(fault)}`);
  return fault;
}

describe("creating a site", () => {
  it("a new site is refused while main is closed, whatever its home, and nothing is stored", async () => {
    for (const home of HOMES) {
      const name = crypto.randomUUID();
      const { code, context } = await refusalOf(
        createSite(contextAt(NOW, closedHomeVars("main")), { name, home, firstChatId: 1 }),
      );
      expect({ code, reason: context.reason }).toEqual({ code: "unavailable", reason: "home_closed" });
      expect(await rowsOf(name)).toEqual({ directory: [], main: [], apac: [] });
    }
  });

  it("a new site is made once even when the answer about its last step is lost", async () => {
    const faults = new Faults(({ name, nth }) => (name === "DB.run" && nth === 0 ? "after" : undefined));
    const name = crypto.randomUUID();
    const site = await createSite(contextAt(NOW, { DB: faultyD1(env.DB, faults) }), {
      name,
      home: "apac",
      firstChatId: 1,
    });
    const { directory, apac } = await rowsOf(name);
    expect(directory).toMatchObject([{ id: site.id, status: "open" }]);
    expect(apac).toHaveLength(1);
  });

  it.each(HOMES)("a new site is stored only in the directory and in its home: %s", async (home) => {
    const name = crypto.randomUUID();
    const site = await createSite(contextAt(NOW), { name, home, firstChatId: 100 });
    const { id } = site;
    expect(site).toEqual({
      id: expect.any(Number),
      name,
      home,
      firstChatId: 100,
      status: "open",
      revision: 0,
      createdAt: NOW,
      eventSeqFloor: 0,
      retentionDays: null,
    });
    const { directory, [home]: here, [home === "main" ? "apac" : "main"]: elsewhere } = await rowsOf(name);
    expect(directory).toEqual([
      {
        id,
        name,
        home,
        first_chat_id: 100,
        status: "open",
        revision: 0,
        created_at: NOW,
        event_seq_floor: 0,
        retention_days: null,
      },
    ]);
    const row = { site_id: id, name, status: "open", chat_id_floor: 99, revision: 0, created_at: NOW };
    expect(here).toEqual([{ ...row, events: 0, event_seq_floor: 0, retention_days: null }]);
    expect(elsewhere).toEqual([]);
    const entry = { subject: String(id), at: NOW, actor: "admin-api" };
    const beginEntry = { action: "site.begun", details: { name, home, first_chat_id: 100 }, ...entry };
    const createEntry = { action: "site.created", details: { name, first_chat_id: 100 }, ...entry };
    expect(await auditOf("main", id)).toEqual(home === "main" ? [beginEntry, createEntry] : [beginEntry]);
    expect(await auditOf(home, id)).toEqual(home === "main" ? [beginEntry, createEntry] : [createEntry]);
  });

  it("a new site in an unbound home is refused with the names of the bound homes, and nothing is stored", async () => {
    const name = crypto.randomUUID();
    const { code, context } = await refusalOf(createSite(contextAt(NOW), { name, home: "eu", firstChatId: 1 }));
    expect([code, context.issues]).toEqual([
      "invalid_input",
      [{ field: "home", message: "must be one of main, apac" }],
    ]);
    expect(await rowsOf(name)).toEqual({ directory: [], main: [], apac: [] });
  });

  it("a new site stays unfinished when its home is down, and the same call again finishes it", async () => {
    const name = crypto.randomUUID();
    const input = { name, home: "apac", firstChatId: 7 };
    const whileDown = contextAt(NOW, { HOME_APAC: downDb(env.HOME_APAC) });
    for (const _ of [1, 2]) expect((await refusalOf(createSite(whileDown, input))).code).toBe("unavailable");
    const [siteRow, ...others] = (await rowsOf(name)).directory;
    expect([siteRow, others]).toMatchObject([{ status: "creating", home: "apac" }, []]);
    const unfinished = await findSite(contextAt(NOW), { siteId: Number(siteRow?.id) });
    const refusal = await refusalOf(issueApp(contextAt(NOW), { site: unfinished, name: "N" }));
    expect([refusal.code, refusal.context.reason]).toEqual(["conflict", "site_unfinished"]);

    const site = await createSite(contextAt(NOW + 60), input);
    expect(site).toMatchObject({ id: siteRow?.id, status: "open", createdAt: NOW });
    const after = await rowsOf(name);
    expect(after.directory).toEqual([{ ...siteRow, status: "open" }]);
    expect(after.apac).toMatchObject([{ site_id: siteRow?.id, chat_id_floor: 6 }]);
    expect(await createSite(contextAt(NOW), input)).not.toMatchObject({ id: siteRow?.id });
  });

  it("a new site does not finish one that was begun for another home or another first chat_id", async () => {
    const name = crypto.randomUUID();
    const whileDown = contextAt(NOW, { HOME_APAC: downDb(env.HOME_APAC) });
    await refusalOf(createSite(whileDown, { name, home: "apac", firstChatId: 1 }));
    await createSite(contextAt(NOW), { name, home: "main", firstChatId: 1 });
    await createSite(contextAt(NOW), { name, home: "apac", firstChatId: 2 });
    expect((await rowsOf(name)).directory).toMatchObject([
      { home: "apac", status: "creating" },
      { home: "main", status: "open" },
      { home: "apac", first_chat_id: 2, status: "open" },
    ]);
  });

  const CALLS = ["DB.batch", "HOME.batch", "DB.run"];
  const ways = CALLS.flatMap((call) =>
    FAULTS.filter((fault) => !/never|silence|late/.test(fault)).map((fault): [string, string] => [call, fault]),
  );

  it.each(ways)("a repeated call ends with one site, open in both databases, when %s fails %s", async (call, fault) => {
    const name = crypto.randomUUID();
    // Faults that the call itself does not retry, so the caller repeats the call.
    const faults = new Faults((each) => (each.name === call ? (fault as never) : undefined), "D1_ERROR: is overloaded");
    const home = new Faults(
      (each) => (each.name.replace("DB", "HOME") === call ? (fault as never) : undefined),
      "D1_ERROR: is overloaded",
    );
    const directory = call === "HOME.batch" ? env.DB : faultyD1(env.DB, faults);
    const apac = call === "HOME.batch" ? faultyD1(env.HOME_APAC, home) : env.HOME_APAC;
    const input = { name, home: "apac", firstChatId: 1 };
    const first = createSite(contextAt(NOW, { DB: directory, HOME_APAC: apac }), input);
    expect((await refusalOf(first)).code).toBe("unavailable");
    // The last answer was lost. The site is finished, and an operator who looks finds it.
    const isDone = call === "DB.run" && fault === "after";
    if (!isDone) await createSite(contextAt(NOW + 1), input);
    const { directory: sites, apac: homeSites, main } = await rowsOf(name);
    expect([sites, homeSites, main]).toMatchObject([[{ status: "open" }], [{ status: "open" }], []]);
    expect(homeSites[0]?.site_id).toBe(sites[0]?.id);
    expect(await auditOf("apac", Number(sites[0]?.id))).toHaveLength(1);
  });

  it("several equal calls at the same moment each make a site of their own", async () => {
    const name = crypto.randomUUID();
    const input = { name, home: "apac", firstChatId: 1 };
    const sites = await Promise.all(Array.from({ length: 8 }, () => createSite(contextAt(NOW), input)));
    expect(new Set(sites.map(({ id }) => id)).size).toBe(8);
    const { directory, apac } = await rowsOf(name);
    expect(directory.map(({ status }) => status)).toEqual(Array(8).fill("open"));
    expect(apac.map(({ site_id }) => site_id)).toEqual(directory.map(({ id }) => id));
  });

  it("a new site is refused when its home has another site with the next id, which a restored directory has lost", async () => {
    const next = Number(await env.DB.prepare("SELECT coalesce(max(id), 0) + 1 AS id FROM sites").first("id"));
    const other = [next, "Other", "open", 50, 0, NOW - 100, 0, 0, null];
    await env.HOME_APAC.prepare("INSERT INTO home_sites VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(...other)
      .run();
    const name = crypto.randomUUID();
    const { code, context } = await refusalOf(createSite(contextAt(NOW), { name, home: "apac", firstChatId: 1 }));
    expect([code, context.reason]).toEqual(["conflict", "site_id_taken"]);
    expect(context.detail).toContain("POST /admin/homes/main/restored");
    const row = await env.HOME_APAC.prepare("SELECT * FROM home_sites WHERE site_id = ?").bind(next).first();
    expect(Object.values(row ?? {})).toEqual(other);
  });

  it("a new site is in main with first_chat_id 1 by default, and first_chat_id has limits", () => {
    expect(newSiteSchema.parse({ name: "N" })).toEqual({ name: "N", home: "main", first_chat_id: 1 });
    for (const first_chat_id of [1, 1_000_000_000_000]) {
      expect(newSiteSchema.safeParse({ name: "N", first_chat_id }).success).toBe(true);
    }
    const message = "must be an integer from 1 to 1000000000000";
    for (const first_chat_id of [0, -1, 1.5, 1_000_000_000_001, "1", null]) {
      const { error } = newSiteSchema.safeParse({ name: "N", first_chat_id });
      expect(fieldIssues(error as never)).toEqual([{ field: "first_chat_id", message }]);
    }
  });
});

describe("the chat ids of a site", () => {
  it("chat ids count from 1 in each site", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create({}, "apac")];
    expect([await world.chatId(), await world.chatId()]).toEqual([1, 2]);
    expect([await other.chatId(), await world.chatId()]).toEqual([1, 3]);
  });

  it("chat ids count from first_chat_id, set at the beginning or later", async () => {
    const madeSite = await createSite(contextAt(NOW), { name: "N", home: "apac", firstChatId: 5_000 });
    const { appid, secret } = await issueApp(contextAt(NOW), { site: madeSite, name: "N" });
    const world = Object.assign(await World.create({}, "apac"), { siteId: madeSite.id, appid, secret });
    await seedAgents(world, [1]);
    const one = { kefu_id: [1], fzr_uid: 1 };
    expect([await world.chatId(one), await world.chatId(one)]).toEqual([5_000, 5_001]);
    await changeSite(contextAt(NOW), { site: madeSite, change: { firstChatId: 5_010 } });
    expect([await world.chatId(one), await world.chatId(one)]).toEqual([5_010, 5_011]);
  });
});

describe("changing a site", () => {
  const change = async (
    world: World,
    input: Parameters<typeof changeSite>[1]["change"],
    bindings: ReplacedBindings = {},
  ) => {
    const site = await findSite(contextAt(NOW), world);
    return changeSite(contextAt(NOW + 5, bindings), { site, change: input });
  };

  /** The world's site, as the directory and the home store it. */
  const both = async ({ siteId, home }: World) => {
    const directory = await env.DB.prepare("SELECT * FROM sites WHERE id = ?").bind(siteId).first();
    const inHome = await databaseOf(home).prepare("SELECT * FROM home_sites WHERE site_id = ?").bind(siteId).first();
    return { directory, home: inHome };
  };

  it.each(HOMES)("a site is renamed, closed and opened in its home and in the directory: %s", async (home) => {
    const world = await World.create({}, home);
    expect(await change(world, { name: "New" })).toMatchObject({ id: world.siteId, home, name: "New", status: "open" });
    expect(await change(world, { status: "closed" })).toMatchObject({ name: "New", status: "closed" });
    expect(await both(world)).toMatchObject({
      directory: { name: "New", status: "closed", home },
      home: { name: "New", status: "closed" },
    });
    expect(await change(world, { status: "open", name: "New" })).toMatchObject({ name: "New", status: "open" });
    expect(await both(world)).toMatchObject({ directory: { status: "open" }, home: { status: "open" } });
    const entries = (await auditOf(home, world.siteId)).filter(({ at }) => Number(at) > NOW);
    expect(entries.map(({ action, details }) => [action, details])).toEqual([
      ["site.renamed", { from: "Site", to: "New" }],
      ["site.closed", { name: "New", from: "open", to: "closed" }],
      ["site.opened", { name: "New", from: "closed", to: "open" }],
    ]);
    expect(new Set(entries.map(({ at, subject }) => `${at} ${subject}`))).toEqual(
      new Set([`${NOW + 5} ${world.siteId}`]),
    );
  });

  it("a site change is refused as a whole when its first_chat_id was already given", async () => {
    const world = await World.create({}, "apac");
    for (const _ of [1, 2]) await world.chatId();
    const before = { ...(await both(world)), audit: await auditOf("apac", world.siteId) };
    const refusal = await refusalOf(change(world, { firstChatId: 2, name: "New", status: "closed" }));
    const message = "must be above 2, the highest chat_id that the site has given or skipped";
    expect([refusal.code, refusal.context.issues]).toEqual(["invalid_input", [{ field: "first_chat_id", message }]]);
    expect({ ...(await both(world)), audit: await auditOf("apac", world.siteId) }).toEqual(before);
  });

  it("first_chat_id may be right above the highest id, and never lower afterwards", async () => {
    const world = await World.create({}, "apac");
    await world.chatId();
    await change(world, { firstChatId: 2 });
    await change(world, { firstChatId: 9 });
    expect(await both(world)).toMatchObject({ directory: { first_chat_id: 9 }, home: { chat_id_floor: 8 } });
    expect((await refusalOf(change(world, { firstChatId: 8 }))).context.issues).toMatchObject([
      { message: expect.stringContaining("above 8,") },
    ]);
    // No id was given since, so the same call changes nothing.
    await change(world, { firstChatId: 9 });
    expect(await world.chatId()).toBe(9);
    const actions = (await auditOf("apac", world.siteId)).map(({ action, details }) => [action, details]);
    expect(actions.slice(1)).toEqual([
      ["site.first_chat_id_set", { first_chat_id: 2, from: 1, to: 2 }],
      ["site.first_chat_id_set", { first_chat_id: 9, from: 2, to: 9 }],
    ]);
  });

  it("a site change holds in the home when the directory misses the copy, and the same call again repairs it", async () => {
    const world = await World.create({}, "apac");
    const input = { name: "New", status: "closed" as const, firstChatId: 40 };
    const { code } = await refusalOf(change(world, input, { DB: downDb(env.DB) }));
    expect(code).toBe("unavailable");
    expect(await both(world)).toMatchObject({
      directory: { name: "Site", status: "open", first_chat_id: 1 },
      home: { name: "New", status: "closed", chat_id_floor: 39 },
    });
    expect(await change(world, input)).toMatchObject({ name: "New", status: "closed", firstChatId: 40 });
    expect((await both(world)).directory).toMatchObject({ name: "New", status: "closed", first_chat_id: 40 });
  });

  it("a site change does nothing when the home does not answer", async () => {
    const world = await World.create({}, "apac");
    const before = await both(world);
    const down = { HOME_APAC: downDb(env.HOME_APAC) };
    expect((await refusalOf(change(world, { name: "New" }, down))).code).toBe("unavailable");
    const unbound = await refusalOf(change(world, { name: "New" }, { HOME_APAC: undefined }));
    expect([unbound.code, unbound.context.reason]).toEqual(["unavailable", "home_unbound"]);
    expect(await both(world)).toEqual(before);
  });

  it("a site that is missing in its home is 404, and the directory's copy stays", async () => {
    const world = await World.create({}, "apac");
    const site = await findSite(contextAt(NOW), world);
    const elsewhere = { site: { ...site, home: "main" }, change: { name: "New" } };
    expect((await refusalOf(changeSite(contextAt(NOW), elsewhere))).code).toBe("not_found");
    expect((await both(world)).directory).toMatchObject({ name: "Site" });
  });

  it("a site change is made once when an answer is lost", async () => {
    const world = await World.create({}, "apac");
    let tries = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      const results = await env.HOME_APAC.batch(statements);
      if (++tries === 1) throw new Error("Network connection lost.");
      return results;
    };
    const result = await change(world, { name: "New" }, { HOME_APAC: replacing(env.HOME_APAC, { batch }) });
    expect([result.name, tries]).toEqual(["New", 2]);
    expect((await auditOf("apac", world.siteId)).map(({ action }) => action)).toEqual(["site.created", "site.renamed"]);
  });

  it("a site change must change something, and only to valid values", () => {
    const issues = (input: unknown) => fieldIssues(siteChangeSchema.safeParse(input).error as never);
    expect(issues({})).toMatchObject([
      { message: "must change name, status, first_chat_id, events or retention_days" },
    ]);
    expect(issues({ status: "creating" })).toEqual([{ field: "status", message: 'must be "open" or "closed"' }]);
    expect(issues({ name: "N", home: "apac" })).toEqual([{ field: "home", message: "is not a field of this call" }]);
  });
});
