import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { tableTexts } from "../../../../src/operators/console/sites/export-and-deletion.tsx";
import type { View } from "../../../../src/operators/console/view.ts";
import { SITE_TABLES } from "../../../../src/operators/store/site-tables.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import { call } from "../../../support/admin-calls.ts";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { endSite, patchSite, pruneAll, sitePath } from "../../../support/site-end.ts";
import { NOW, World } from "../../../support/world.ts";

/** How a person deletes a site. */

afterEach(() => void vi.unstubAllGlobals());

const NAME = "The site's name";

/** A closed site with this name and one session. */
async function startClosed(home = "apac", name = `Shop ${crypto.randomUUID()}`) {
  const world = await World.create({}, home);
  await world.chatId();
  await patchSite(world, { name, status: "closed" });
  const visitor = await ConsoleVisitor.signedIn(world);
  return { world, visitor, name, site: `/console/sites/${world.siteId}` };
}

/** What the databases store about a site's deletion. */
async function deletionOf({ siteId, home }: World) {
  const [directory, ofHome, ofDirectory] = await Promise.all([
    env.DB.prepare("SELECT status FROM sites WHERE id = ?").bind(siteId).first<string>("status"),
    ...[databaseOf(home), env.DB].map((db) =>
      db.prepare("SELECT id FROM site_deletions WHERE site_id = ?").bind(siteId).first<string>("id"),
    ),
  ]);
  return { directory, ofHome, ofDirectory };
}

const KV_DOWN = {
  CREDENTIALS: {
    ...env.CREDENTIALS,
    put: async () => {
      throw new Error("KV is down");
    },
    get: async () => null,
  } as unknown as KVNamespace,
};

describe("an owner of a closed site", () => {
  it("an owner who deletes a site reads what goes and what stays, types its name, and sees the progress", async () => {
    const { world, visitor, site, name } = await startClosed();
    const askPage = await visitor.open((await visitor.open(`${site}/settings`)).link("Delete this site…"));
    expect([askPage.path, askPage.heading]).toEqual([`${site}/delete`, "Delete this site?"]);
    for (const text of [
      "It can be exported before: Export this site…",
      "cannot be called off",
      "for 31 days",
      "audit log",
      "D1's Time Travel, for 30 days",
    ]) {
      expect(askPage.text).toContain(text);
    }
    expect(askPage.link("Cancel")).toBe(`${site}/settings`);
    expect(await deletionOf(world)).toEqual({ directory: "closed", ofHome: null, ofDirectory: null });

    const page = await visitor.press(askPage, "Delete this site now", { [NAME]: name });
    expect([page.status, page.path, page.heading, page.notices]).toEqual([
      200,
      site,
      name,
      ["This site is being deleted"],
    ]);
    const id = page.code("deletion-id");
    expect(await deletionOf(world)).toEqual({ directory: "deleting", ofHome: id, ofDirectory: id });
    expect([page.fact("Sessions"), page.fact("Messages"), page.fact("All gone")]).toEqual(["1", "1", "Not yet"]);
    expect(page.text).not.toContain("Receipt to keep");
    const { audit } = await world.operated();
    expect(audit.at(-1)).toMatchObject({ action: "site.deletion_begun", actor: "console" });
    expect((await world.create()).status).toBe(401);

    await pruneAll(NOW);
    const donePage = await visitor.open(site);
    expect([donePage.heading, donePage.notices]).toEqual([`(${world.siteId})`, ["This site is deleted"]]);
    expect(donePage.text).toContain("What is left of its data Nothing.");
    expect(donePage.code("deletion-id")).toBe(id);
    expect((await world.stored()).sessions).toEqual([]);
    const log = await visitor.open(donePage.link("Audit log"));
    expect(log.rows.slice(0, 2).map(([, what]) => what)).toEqual([
      expect.stringMatching(/^Site deleted\b/),
      expect.stringMatching(/^Deletion of the site begun\b/),
    ]);
  });
});

describe("an owner of a site that is being deleted", () => {
  it("a site that is being deleted shows its state in the list of sites, and has no tabs to missing pages", async () => {
    const { world, visitor, site, name } = await startClosed();
    await call(world, "DELETE", sitePath(world), { name });
    const listRows = async () => (await visitor.open(`/console?q=${world.siteId}`)).rows;
    expect((await listRows())[0]?.join(" ")).toMatch(new RegExp(`^${name} ${world.siteId} apac Being deleted`));
    const page = await visitor.open(site);
    expect(page.links.filter((href) => href.startsWith(site))).toEqual([site, site, `${site}/audit`, site]);
    expect([page.html.includes("data-refresh"), page.link("Look again")]).toEqual([true, site]);
    for (const tab of ["sessions", "apps", "agents", "webhooks", "refusals", "settings", "customers", "close"]) {
      expect([tab, (await visitor.get(`${site}/${tab}`)).status]).toEqual([tab, 404]);
    }
    await pruneAll(NOW);
    expect((await visitor.open(site)).html).not.toContain("data-refresh");
    // A deleted site is no longer in the list.
    expect((await listRows()).map(([, id]) => id)).not.toContain(String(world.siteId));
    expect((await visitor.open(`${site}/delete`)).path).toBe(site);
  });
});

describe("the form that deletes a site", () => {
  it("the form that deletes a site refuses another name at its field, and deletes nothing", async () => {
    const { world, visitor, site, name } = await startClosed();
    const before = [await world.stored(), await world.operated()];
    for (const wrong of ["", name.toUpperCase()]) {
      const askPage = await visitor.open(`${site}/delete`);
      const page = await visitor.press(askPage, "Delete this site now", { [NAME]: wrong });
      expect([page.status, page.error(NAME), page.value(NAME)]).toEqual([400, "Must be the name of this site", wrong]);
    }
    expect([await world.stored(), await world.operated()]).toEqual(before);
  });

  it("the form that deletes a site is not shown for an open site, and a site opened since is refused", async () => {
    const { world, visitor, site, name } = await startClosed();
    const askPage = await visitor.open(`${site}/delete`);
    await patchSite(world, { status: "open" });
    const before = [await world.stored(), await world.operated()];
    const refusal = await visitor.press(askPage, "Delete this site now", { [NAME]: name });
    expect([refusal.status, refusal.heading]).toEqual([409, "This site is open"]);
    expect(refusal.text).toContain("Close it first, in its settings. Nothing was deleted.");
    expect((await visitor.open(`${site}/settings`)).text).not.toContain("Delete this site…");
    const open = await visitor.open(`${site}/delete`);
    expect([open.notices, open.has("Delete this site now")]).toEqual([["This site is open"], false]);
    expect(open.link("Close this site…")).toBe(`${site}/close`);
    expect([await world.stored(), await world.operated()]).toEqual(before);
  });

  it("the form that deletes a site begins one deletion when it is sent twice, also from two tabs", async () => {
    const { world, visitor, site, name } = await startClosed();
    const tabs = [await visitor.open(`${site}/delete`), await visitor.open(`${site}/delete`)] as const;
    const first = await visitor.press(tabs[0], "Delete this site now", { [NAME]: name });
    for (const tab of tabs) {
      const pageAgain = await visitor.press(tab, "Delete this site now", { [NAME]: name });
      expect([pageAgain.path, pageAgain.code("deletion-id")]).toEqual([site, first.code("deletion-id")]);
    }
    const { audit } = await world.operated();
    expect(audit.filter(({ action }) => action === "site.deletion_begun")).toHaveLength(1);
  });

  it("the form that deletes a site is shown again after a change of language, and deletes nothing", async () => {
    const { world, visitor, site, name } = await startClosed();
    const wrong = await visitor.press(await visitor.open(`${site}/delete`), "Delete this site now", { [NAME]: "x" });
    const chinese = await visitor.press(wrong, "中文");
    expect([chinese.status, chinese.heading, chinese.value("站点名称")]).toEqual([200, "删除此站点？", "x"]);
    expect(await deletionOf(world)).toMatchObject({ directory: "closed", ofHome: null });
    const begunPage = await visitor.press(chinese, "立即删除此站点", { 站点名称: name });
    expect(begunPage.notices).toEqual(["此站点正在删除"]);
  });
});

describe("a deletion that KV or the directory does not take", () => {
  it("a deletion that KV or the directory refuses deletes nothing, and continues when it is sent again", async () => {
    const { world, visitor, site, name } = await startClosed();
    const before = await world.stored();
    // The key of the hashes is made once, and only with KV.
    await endSite(await World.create());
    const visitorWithoutKv = visitor.through(world.anotherIsolate(KV_DOWN));
    const page = await visitorWithoutKv.press(await visitorWithoutKv.open(`${site}/delete`), "Delete this site now", {
      [NAME]: name,
    });
    expect([page.status, page.heading]).toEqual([503, "KV does not answer"]);
    await pruneAll(NOW);
    expect((await world.stored()).sessions).toEqual(before.sessions);
    expect(await deletionOf(world)).toMatchObject({ directory: "closed", ofDirectory: null });

    const half = await visitor.open(site);
    expect(half.notices).toEqual(["This site is closed", "The deletion has begun, but not everything knows of it"]);
    expect((await visitor.open(`${site}/delete`)).path).toBe(site);
    const ofViewer = await (await visitorWithRole(world, "viewer")).open(site);
    expect([ofViewer.notices, ofViewer.has("Send it again")]).toEqual([half.notices, false]);

    const openedPage = await visitor.press(await visitor.open(`${site}/settings`), "Open this site");
    expect([openedPage.status, openedPage.heading]).toEqual([409, "The deletion of this site has begun"]);

    const pageAgain = await visitor.press(half, "Send it again");
    expect([pageAgain.path, pageAgain.notices]).toEqual([site, ["This site is being deleted"]]);
    const id = half.code("deletion-id");
    expect(await deletionOf(world)).toEqual({ directory: "deleting", ofHome: id, ofDirectory: id });
    await pruneAll(NOW);
    expect((await world.stored()).sessions).toEqual([]);
  });

  it("a deletion of a site in the console is 503 while a home is closed, and the page says why", async () => {
    const { world, visitor, site, name } = await startClosed();
    const askPage = await visitor.open(`${site}/delete`);
    const other = visitor.through(world.anotherIsolate(closedHomeVars("apac")));
    const page = await other.press(askPage, "Delete this site now", { [NAME]: name });
    expect([page.status, page.heading]).toEqual([503, "A home is closed, so this cannot be done now"]);
    expect(await deletionOf(world)).toEqual({ directory: "closed", ofHome: null, ofDirectory: null });
  });
});

describe("the page of a site that is being deleted", () => {
  it("the page of a site that is being deleted counts each table up to 1,000", async () => {
    const { world, visitor, site, name } = await startClosed();
    await databaseOf(world.home)
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001)
         INSERT INTO agents (site_id, id, name, status) SELECT ?, 500000 + i, 'A', 'normal' FROM n`,
      )
      .bind(world.siteId)
      .run();
    await call(world, "DELETE", sitePath(world), { name });
    expect((await visitor.open(site)).fact("Agents")).toBe("1,000+");
  });

  it("the page of a site that is being deleted has words for every table", () => {
    const words = Object.keys(SITE_TABLES).map((table) => [
      table,
      tableTexts({ t: (text) => text } as View)[table] ?? table,
    ]);
    expect(words.filter(([table, text]) => table === text)).toEqual([]);
  });

  it("without KV the page of a site that is being deleted shows an owner the receipt", async () => {
    const { world, visitor, site, name } = await startClosed("main");
    const bare = world.anotherIsolate({ CREDENTIALS: undefined });
    const owner = visitor.through(bare);
    const begunPage = await owner.press(await owner.open(`${site}/delete`), "Delete this site now", { [NAME]: name });
    expect(JSON.parse(begunPage.code("receipt"))).toEqual([
      { deletion_id: begunPage.code("deletion-id"), site_id: world.siteId, hash: expect.stringContaining(".") },
    ]);
    const viewer = await visitorWithRole(bare, "viewer");
    expect((await viewer.open(site)).text).not.toContain("Receipt to keep");
  });
});
