import { describe, expect, it } from "vitest";
import { PERSON_ROLES } from "../../../../src/operators/access/role.ts";
import { planExport } from "../../../../src/operators/services/export-site.ts";
import { findSite } from "../../../../src/operators/services/sites.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { type ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { seedCustomer } from "../../../support/customers.ts";
import { databaseOf } from "../../../support/homes.ts";
import { contextAt } from "../../../support/service-context.ts";
import { NOW, World } from "../../../support/world.ts";

/** The buttons of /console/sites/:site_id/export. test/operators/site-end/export.test.ts has what an export is. */

type Line = Record<string, unknown> & { kind: string };

const linesOf = (text: string): Line[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** What an operator gets who opens the export, takes each file and goes on until the last. */
async function takeAll(
  visitor: ConsoleVisitor,
  page: ConsolePage,
  part = 1,
): Promise<{ name: string; lines: Line[] }[]> {
  const answer = await visitor.submit(page, `Download file ${part}`);
  const name = /filename="(.*)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? "";
  const file = { name, lines: linesOf(await answer.text()) };
  const [, goOn] = /<a [^>]*>(Go on after [^<]*)</.exec(page.html) ?? [];
  if (goOn === undefined) return [file];
  return [file, ...(await takeAll(visitor, await visitor.open(page.link(goOn)), part + 1))];
}

const auditOf = async ({ siteId, home }: World) =>
  (
    await databaseOf(home)
      .prepare("SELECT actor, subject FROM audit_log WHERE site_id = ? AND action = 'site.exported'")
      .bind(siteId)
      .all()
  ).results;

describe("the export of a site by its button", () => {
  it("the settings lead an owner to a site's export, and its file has what the API gives, with the same audit row", async () => {
    const { world, visitor, site } = await start();
    await world.chatId({ sbs: "a", sbs_mc: "Alice", content: "Hello" });
    await world.chatId({ sbs: "b" });
    const page = await visitor.open((await visitor.open(`${site}/settings`)).link("Export this site…"));
    expect([page.heading, page.path]).toEqual(["Export this site", `${site}/export`]);
    expect(["Begins", "Agents", "Apps", "Sessions", "Stops"].map((term) => page.fact(term))).toEqual([
      "at the beginning",
      "4",
      "1",
      "2",
      "at the end: it is the last file",
    ]);
    expect([page.html.includes("Go on after"), await auditOf(world)]).toEqual([false, []]);
    const answer = await visitor.submit(page, "Download file 1");
    expect([answer.status, answer.headers.get("content-type"), answer.headers.get("content-disposition")]).toEqual([
      200,
      "application/x-ndjson",
      `attachment; filename="site-${world.siteId}-part-1.ndjson"`,
    ]);
    const text = await answer.text();
    const fromApi = await world.admin("GET", `/admin/sites/${world.siteId}/export`);
    expect(text).toBe(new TextDecoder().decode(await fromApi.arrayBuffer()));
    // One row for each operator and hour.
    expect(await auditOf(world)).toEqual([{ actor: "console", subject: String(world.siteId) }]);
  });

  it("the export of a site with more than a file holds says where each file stops, and has everything once", async () => {
    const { world, visitor, site } = await start();
    await seedCustomer(world, "many", 4_100);
    const page = await visitor.open(`${site}/export`);
    expect([page.fact("Sessions"), page.fact("Stops")]).toEqual(["1,995", "after session 1995"]);
    const files = await takeAll(visitor, page);
    expect(files.map(({ name }) => name)).toEqual([1, 2, 3].map((part) => `site-${world.siteId}-part-${part}.ndjson`));
    expect(files.map(({ lines }) => lines.at(-1))).toEqual([
      { kind: "end", next: `${world.siteId}.sessions.1995` },
      { kind: "end", next: `${world.siteId}.sessions.3995` },
      { kind: "end", next: null },
    ]);
    const lines = files.flatMap((file) => file.lines.slice(0, -1));
    expect(lines.filter(({ kind }) => kind === "session").map(({ chat_id }) => chat_id)).toEqual(
      Array.from({ length: 4_100 }, (_, i) => i + 1),
    );
    const kinds = ["site", "agent", "app", "customer", "end"];
    expect(kinds.map((name) => lines.filter(({ kind }) => kind === name).length)).toEqual([1, 4, 1, 1, 0]);
    expect(
      lines.filter(({ kind }) => kind === "session").every(({ messages }) => (messages as unknown[]).length === 1),
    ).toBe(true);
  });

  it("what is added between a page of an export and its download is in that file, or after the end, and never lost", async () => {
    const { world, visitor, site } = await start();
    const db = databaseOf(world.home);
    const insert = db.prepare("INSERT INTO agents (site_id, id, name, status) VALUES (?, ?, 'A', 'normal')");
    const addAgents = (from: number, count: number) =>
      db.batch(Array.from({ length: count }, (_, i) => insert.bind(world.siteId, from + 2 * i)));
    await addAgents(10_000, 2_500);
    const first = await visitor.open(`${site}/export`);
    const goOn = `Go on ${first.fact("Stops")}`;
    expect(goOn).toMatch(/^Go on after agent 1\d{4}$/);
    await addAgents(10_001, 600);
    const files = await takeAll(visitor, first);
    const ids = files.flatMap(({ lines }) => lines).flatMap(({ kind, id }) => (kind === "agent" ? [Number(id)] : []));
    const { results } = await db
      .prepare("SELECT id FROM agents WHERE site_id = ? ORDER BY id")
      .bind(world.siteId)
      .all<{ id: number }>();
    expect(ids).toEqual(results.map(({ id }) => id));
    expect(files.flatMap(({ lines }) => lines).filter(({ kind }) => kind === "app")).toHaveLength(1);
  });

  it.each(PERSON_ROLES)("only an owner sees a site's export and gets its file: %s", async (role) => {
    const { world, site } = await start("main");
    const visitor = await visitorWithRole(world, role);
    const isOwner = role === "owner";
    expect((await visitor.page(`${site}/settings`)).includes(`${site}/export`)).toBe(isOwner);
    expect((await visitor.get(`${site}/export`)).status).toBe(isOwner ? 200 : 403);
    expect((await visitor.post(`${site}/export`, {})).status).toBe(isOwner ? 303 : 403);
    expect(await auditOf(world)).toEqual([]);
  });

  it("a form without the hidden field of this console session gives no file, and the page is shown again", async () => {
    const { world, visitor, site } = await start("main");
    const answer = await visitor.post(`${site}/export`, { until: `${world.siteId}.sessions.0` });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, `${site}/export`]);
    expect(await auditOf(world)).toEqual([]);
  });

  it.each(["x", "1.sessions.1.2", "1.agents.x"])(
    "a place that is not of this site's export is refused: %s",
    async (after) => {
      const { visitor, site } = await start("main");
      expect((await visitor.get(`${site}/export?after=${after}`)).status).toBe(400);
    },
  );

  it("the page that deletes a site leads to its export", async () => {
    const { world, visitor, site } = await start();
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { status: "closed" });
    expect((await visitor.open(`${site}/delete`)).link("Export this site…")).toBe(`${site}/export`);
  });
});

describe("where a file of an export will end", () => {
  it.each([1, 3, 4, 5, 6, 100])(
    "a file of %s items ends where the next begins, in every kind of item",
    async (limit) => {
      const world = await World.create({}, "apac");
      for (const sbs of ["a", "b", "a"]) await world.chatId({ sbs });
      const ctx = contextAt(NOW);
      const site = await findSite(ctx, world);
      const counts: number[] = [];
      for (let after: string | undefined, hasMore = true; hasMore; ) {
        const plan = await planExport(ctx, { site, limit, after });
        counts.push(Object.values(plan.counts).reduce((sum, count) => sum + count));
        after = plan.until;
        ({ hasMore } = plan);
      }
      const all = 4 + 1 + 3;
      const full = Math.ceil(all / limit) - 1;
      expect(counts).toEqual([...Array(full).fill(limit), all - full * limit]);
    },
  );
});
