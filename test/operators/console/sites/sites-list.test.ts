import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PERSON_ROLES } from "../../../../src/operators/access/role.ts";
import { pageOfRanked, RANKED_SITES, rankSites, sitesToRank } from "../../../../src/operators/services/listed-sites.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { type ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { downDb } from "../../../support/down-db.ts";
import { databaseOf } from "../../../support/homes.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { contextAt } from "../../../support/service-context.ts";
import { beginCounting } from "../../../support/usage.ts";
import { NOW, World } from "../../../support/world.ts";

/** The rows of the front page. NOW is 15 January 2027, 08:00 UTC, so the counted hours end at 07:00. attention.test.ts has what comes above. */

const HOUR = 3_600;
const UNTIL = NOW - HOUR;

beforeEach(beginCounting);

/** Stores counted calls of a site, as the cron stores them. */
async function counted({ siteId, appid, home }: World, rows: [hour: number, outcome: string, count: number][]) {
  const db = databaseOf(home);
  const add = db.prepare(
    "INSERT INTO usage (site_id, appid, operation, outcome, secret, count, last_at, hour) VALUES (?, ?, 'create_session', ?, '', ?, ?, ?)",
  );
  await db.batch(rows.map(([hour, outcome, count]) => add.bind(siteId, appid, outcome, count, hour, hour)));
}

const rename = ({ siteId }: World, name: string) =>
  env.DB.prepare("UPDATE sites SET name = ? WHERE id = ?").bind(name, siteId).run();

/** A part of names that no other test uses. It has no digits, so that no id finds it. */
const ownWord = () =>
  `Mark${crypto
    .randomUUID()
    .slice(0, 13)
    .replace(/\d|-/g, (each) => "ghijklmnop-".charAt(Number(each) || 0))}`;

/** Makes sites with this word in their names, open in apac, without anything in it. @returns their ids */
async function manySites(word: string, count: number): Promise<number[]> {
  const { results } = await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO sites (id, name, home, first_chat_id, status, revision, created_at)
       SELECT (SELECT max(id) FROM sites) + i, 'Many ' || ? || ' ' || i, 'apac', 1, 'open', 0, ? FROM n RETURNING id`,
  )
    .bind(count, word, NOW)
    .all<{ id: number }>();
  return results.map(({ id }) => id);
}

/** Gives each of these sites in apac an app with counted calls. */
async function manyCalls(calls: [id: number, count: number][]): Promise<void> {
  const statements = [
    "INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at) VALUES (?1, 'Site', 'open', 0, 0, 0)",
    "INSERT INTO apps (site_id, appid, name, version, secret, created_at) VALUES (?1, 'app', 'App', '', '', 0)",
    "INSERT INTO usage (site_id, appid, operation, outcome, secret, count, last_at, hour) VALUES (?1, 'app', 'add_agents', 'accepted', '', ?2, ?3, ?3)",
  ].map((text) => env.HOME_APAC.prepare(text));
  const bound = ([id, count]: [number, number]) =>
    statements.map((statement, i) => (i < 2 ? statement.bind(id) : statement.bind(id, count, UNTIL - HOUR)));
  await env.HOME_APAC.batch(calls.flatMap(bound));
}

/** All tests share the databases, and a health check reads each app: so what {@link manySites} and {@link manyCalls} made goes. */
afterEach(async () => {
  const made = ["DELETE FROM apps WHERE appid = 'app'", "DELETE FROM home_sites WHERE created_at = 0"];
  await env.HOME_APAC.batch(made.map((text) => env.HOME_APAC.prepare(text)));
  await env.DB.prepare("DELETE FROM sites WHERE name LIKE 'Many %'").run();
});

/** The cells of the row of a site. */
const rowOf = ({ rows }: ConsolePage, name: string) => rows.find(([first]) => first === name);

/** The ids of a list's rows, from this page to the last. */
async function idsFrom(visitor: ConsoleVisitor, page: ConsolePage): Promise<string[]> {
  const ids = page.rows.map(([, id = ""]) => id);
  if (!page.html.includes('rel="next"')) return ids;
  return [...ids, ...(await idsFrom(visitor, await visitor.open(page.link("Next page"))))];
}

describe("what the list says of a site", () => {
  it.each(["main", "apac"])(
    "the list says how many calls of 24 hours came and were refused, for a site in %s",
    async (home) => {
      const { world, visitor } = await start(home);
      await counted(world, [
        [UNTIL, "accepted", 1_000],
        [UNTIL - HOUR, "accepted", 1_200],
        [UNTIL - HOUR, "timestamp_stale", 5],
        [UNTIL - 24 * HOUR, "fields_invalid", 2],
        [UNTIL - 25 * HOUR, "accepted", 70],
      ]);
      await rename(world, ownWord());
      const page = await visitor.open(`/console?q=${world.siteId}`);
      expect(page.rows[0]?.slice(1)).toEqual([
        String(world.siteId),
        home,
        "Open",
        "1,207",
        "7",
        "",
        expect.any(String),
      ]);
      expect(page.text).toContain(
        "The calls are those of the 24 hours until 15 Jan 2027, 07:00. Looked at 15 Jan 2027, 08:00:00.",
      );
    },
  );

  it("the list says whether a site's webhooks deliver, and leads to them", async () => {
    const { world, visitor, site } = await start();
    const open = () => visitor.open(`/console?q=${world.siteId}`);
    await newWebhook(world, { failing_since: NOW - 299 });
    await newWebhook(world, { status: "disabled", disabled_at: NOW });
    expect((await open()).link("webhooks: 2")).toBe(`${site}/webhooks`);
    await newWebhook(world, { failing_since: NOW - 300 });
    await newWebhook(world, { status: "disabled", disabled_reason: "gone", disabled_at: NOW });
    expect((await open()).link("webhooks: 2 fail")).toBe(`${site}/webhooks`);
  });

  it("the list names a home that does not answer, and says that the calls of its sites are not known", async () => {
    const { world, visitor } = await start();
    await counted(world, [[UNTIL - HOUR, "accepted", 3]]);
    const isolate = world.anotherIsolate({ HOME_APAC: downDb(env.HOME_APAC) });
    const page = await visitor.through(isolate).open(`/console?q=${world.siteId}`);
    expect(page.rows[0]?.slice(4, 7)).toEqual(["not known", "–", ""]);
    expect(page.text).toContain("Not asked, so their sites stand last: apac.");
  });

  it.each(PERSON_ROLES)("the list says the same to the role %s", async (role) => {
    const { world } = await start("main");
    await counted(world, [[UNTIL - HOUR, "accepted", 3]]);
    const visitor = await visitorWithRole(world, role);
    const page = await visitor.open(`/console?q=${world.siteId}`);
    expect([page.status, page.rows[0]?.slice(4, 6)]).toEqual([200, ["3", "0"]]);
  });
});

describe("what the list has", () => {
  it("the list finds a site by a part of its name and by its exact id, and says when none matches", async () => {
    const { world, visitor } = await start("main");
    const word = ownWord();
    await rename(world, `The ${word}_100% shop`);
    const form = await visitor.open("/console");
    for (const [typed, name] of [
      [word.toUpperCase(), `The ${word}_100% shop`],
      [` ${word}_100% `, `The ${word}_100% shop`],
      [String(world.siteId), `The ${word}_100% shop`],
    ] as const) {
      const page = await visitor.press(form, "Find", { "Site or its ID": typed });
      expect([typed, page.rows.map(([first]) => first)]).toEqual([typed, [name]]);
      expect(page.value("Site or its ID")).toBe(typed.trim());
    }
    const nothing = await visitor.press(form, "Find", { "Site or its ID": `${word}%100` });
    expect([nothing.rows, nothing.text.includes("No site matches.")]).toEqual([[], true]);
    expect((await visitor.open(nothing.link("Clear"))).path).toBe("/console");
  });

  it("the list filters sites by status and by trouble, and an unknown status filters nothing", async () => {
    const { world, visitor } = await start();
    const word = ownWord();
    const [closed, failing, risen] = [await World.create(), await World.create(), await World.create()];
    for (const [each, name] of [
      [world, "well"],
      [closed, "closed"],
      [failing, "failing"],
      [risen, "risen"],
    ] as const)
      await rename(each, `${word} ${name}`);
    await env.DB.prepare("UPDATE sites SET status = 'closed' WHERE id = ?").bind(closed.siteId).run();
    await newWebhook(failing, { failing_since: NOW - 600 });
    await counted(risen, [[UNTIL - HOUR, "timestamp_stale", 50]]);
    const namesWith = async (status: string) => {
      const page = await visitor.open(`/console?q=${word}&status=${status}`);
      return page.rows.map(([name]) => name?.replace(`${word} `, "")).sort();
    };
    expect(await namesWith("open")).toEqual(["failing", "risen", "well"]);
    expect(await namesWith("closed")).toEqual(["closed"]);
    expect(await namesWith("trouble")).toEqual(["failing", "risen"]);
    expect(await namesWith("deleting")).toEqual([]);
    for (const status of ["", "toString", "deleted"])
      expect(await namesWith(status)).toEqual(["closed", "failing", "risen", "well"]);
    await env.DB.prepare("UPDATE sites SET status = 'creating' WHERE id = ?").bind(world.siteId).run();
    expect(await namesWith("trouble")).toEqual(["failing", "risen", "well"]);
    expect(rowOf(await visitor.open(`/console?q=${word}`), `${word} well`)?.[3]).toContain("Unfinished");
  });

  it("an operator of one site gets this site alone, whatever is looked for", async () => {
    const { world } = await start("main");
    const word = ownWord();
    const other = await World.create();
    for (const each of [world, other]) await rename(each, word);
    const ctx = contextAt(NOW);
    const identity = { ...ctx.identity, onlySite: world.siteId } as NonNullable<typeof ctx.identity>;
    for (const text of ["", word, String(other.siteId)]) {
      const { sites } = await sitesToRank({ ...ctx, identity }, { cursor: undefined, filter: { text } });
      expect(sites.map(({ id }) => id)).toEqual(text === String(other.siteId) ? [] : [world.siteId]);
    }
  });
});

describe("the order and the pages of the list", () => {
  it("the list has the most called site first, and each site once over all pages", async () => {
    const { visitor } = await start();
    const word = ownWord();
    const ids = await manySites(word, 110);
    const calls = ids.map((id, i): [number, number] => [id, i % 4 === 0 ? (i * 7) % 50 : 0]);
    await manyCalls(calls.filter(([, count]) => count > 0));
    const listed = await idsFrom(visitor, await visitor.open(`/console?q=${word}`));
    const expected = calls.toSorted(([a, x], [b, y]) => y - x || a - b).map(([id]) => id);
    expect(listed.map(Number)).toEqual(expected);
  });

  it("a home that answers from the second page on leaves out none of its sites", async () => {
    const { world, visitor } = await start("main");
    const word = ownWord();
    const ids = await manySites(word, 60);
    const silent = visitor.through(world.anotherIsolate({ HOME_APAC: downDb(env.HOME_APAC) }));
    const first = await silent.open(`/console?q=${word}`);
    expect(first.rows).toHaveLength(50);
    await manyCalls(ids.slice(50).map((id) => [id, 9]));
    const second = await visitor.open(first.link("Next page"));
    expect([...first.rows, ...second.rows].map(([, id]) => Number(id))).toEqual(ids);
  });

  it("a list of more sites than are ranked at once goes on with the others, and says how far it looked", async () => {
    const { visitor } = await start("main");
    const word = ownWord();
    const ids = await manySites(word, RANKED_SITES + 20);
    const page = await visitor.open(`/console?q=${word}`);
    expect(page.text).toContain("500 sites were looked through; the last pages lead to further ones.");
    expect((await idsFrom(visitor, page)).map(Number)).toEqual(ids);
    const trouble = await visitor.open(`/console?q=${word}&status=trouble`);
    expect([trouble.rows, trouble.text.includes("500 sites were looked through")]).toEqual([[], true]);
    const rest = await visitor.open(trouble.link("Next page"));
    expect([rest.rows, rest.html.includes('rel="next"')]).toEqual([[], false]);
  });

  it.each(["x", "1_2", "0_1_2", "-1", "0_1_2_3_;"])("a made-up place in the list is refused: %s", async (cursor) => {
    const { visitor } = await start("main");
    expect((await visitor.get(`/console?${new URLSearchParams({ cursor })}`)).status).toBe(400);
  });

  it("the list asks the directory once for its sites, and each home once for what happened", async () => {
    const { world } = await start();
    const ctx = contextAt(NOW);
    const asked: string[] = [];
    const noting = (name: string, db: D1Database): D1Database =>
      new Proxy(db, {
        get: (target, key) => {
          const value: unknown = Reflect.get(target, key);
          if (typeof value !== "function") return value;
          return (...args: unknown[]) => {
            if (key === "prepare" || key === "batch") asked.push(name);
            return value.apply(target, args);
          };
        },
      });
    const homes = new Map([...ctx.config.homes].map(([home, db]) => [home, noting(home, db)]));
    const config = { ...ctx.config, homes, directory: noting("directory", ctx.config.directory) };
    const toRank = await sitesToRank({ ...ctx, config }, { cursor: String(world.siteId - 1), filter: {} });
    const ranked = await rankSites({ ...ctx, config }, toRank, new Map());
    expect(asked).toEqual(["directory", "apac"]);
    expect(pageOfRanked(toRank, ranked, 50).items.map(({ site }) => site.id)).toEqual([world.siteId]);
  });
});
