import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { newPerson } from "../../../support/new-person.ts";
import { newToken } from "../../../support/new-token.ts";
import { NOW, World } from "../../../support/world.ts";

const [OPERATING = ""] = Object.values(
  import.meta.glob("../../../../docs/operating/data-and-restore.md", { query: "?raw", import: "default", eager: true }),
);

const brokenHome = () => ({ HOME_APAC: faultyD1(env.HOME_APAC, new Faults(() => "before")) });

/** The page of the list of sites that shows this site. */
const openList = (visitor: ConsoleVisitor, siteId: number) => visitor.open(`/console?q=${siteId}`);

const siteRow = (siteId: number) => env.DB.prepare("SELECT * FROM sites WHERE id = ?").bind(siteId).first();
const homeRow = (siteId: number, db = env.HOME_APAC) =>
  db.prepare("SELECT * FROM home_sites WHERE site_id = ?").bind(siteId).first();

describe("a deployment of one home", () => {
  it('a deployment of one home mentions homes only in the link "Homes" and in one audit action', async () => {
    const { world, visitor, site } = await start("main", { HOME_APAC: undefined });
    const createdPage = await visitor.press(await visitor.open("/console"), "Create site", { Name: "Only" });
    const tabs = ["", "/sessions", "/apps", "/agents", "/audit", "/settings", "/close"].map((tab) => site + tab);
    const pages = await Promise.all(["/console/signature-check", ...tabs].map((path) => visitor.open(path)));
    for (const page of [createdPage, await openList(visitor, world.siteId), ...pages]) {
      const rest = page.text.replace("Sites Homes ", "").replace("Home restored ", "");
      expect([page.path, page.status, /\bhomes?\b/i.exec(rest)?.[0]]).toEqual([page.path, 200, undefined]);
    }
  });

  it("a deployment of one home links to the steps of a restore", async () => {
    const visitor = await ConsoleVisitor.signedIn(await World.create({ HOME_APAC: undefined }));
    const homes = await visitor.open((await visitor.open("/console")).link("Homes"));
    const page = await visitor.open(homes.link("It was restored… main"));
    expect([page.status, page.heading]).toEqual([200, "Restored home main"]);
    expect(page.text).toContain("npx wrangler d1 time-travel restore DB ");
  });

  it("a deployment of one home says when that home is closed", async () => {
    const world = await World.create({ HOME_APAC: undefined, ...closedHomeVars("main") });
    const visitor = await ConsoleVisitor.signedIn(world);
    const page = await visitor.open(`/console/sites/${world.siteId}`);
    expect([page.status, page.notices]).toEqual([200, ["The home main is closed"]]);
    expect((await visitor.open("/console/homes")).html).not.toContain("badge good");
  });
});

describe("creating a site", () => {
  it("the form for a new site asks for a home and the first chat_id, from which sessions count", async () => {
    const { visitor, world } = await start();
    const form = await visitor.open("/console");
    expect(form.value("Home")).toBe("main");
    const name = `Tokyo ${world.siteId}`;
    const madePage = await visitor.press(form, "Create site", { Name: name, Home: "apac", "First chat_id": " 5000 " });
    expect([madePage.status, madePage.notices, madePage.heading]).toEqual([200, ["The site was created."], name]);
    expect(madePage.text).toContain("Home apac Open");
    const siteId = Number(/\d+/.exec(madePage.path)?.[0]);
    expect(await siteRow(siteId)).toMatchObject({ name, home: "apac", status: "open", first_chat_id: 5000 });
    expect(await homeRow(siteId)).toMatchObject({ name, status: "open", chat_id_floor: 4999 });
    expect(await homeRow(siteId, env.DB)).toBeNull();
    const [row] = (await openList(visitor, siteId)).rows;
    expect(row?.slice(0, 4)).toEqual([name, String(siteId), "apac", "Open"]);
  });

  it("the form for a new site refuses a wrong first chat_id at its field, and keeps the other fields", async () => {
    const { visitor } = await start();
    const before = await env.DB.prepare("SELECT max(id) FROM sites").first();
    const form = await visitor.open("/console");
    const page = await visitor.press(form, "Create site", { Name: "Kept", Home: "apac", "First chat_id": "0" });
    expect([page.status, page.error("First chat_id")]).toEqual([400, "Must be an integer from 1 to 1000000000000"]);
    expect(["Name", "Home", "First chat_id"].map((field) => page.value(field))).toEqual(["Kept", "apac", "0"]);
    expect(page.html.match(/<details[^>]* open/g)).toHaveLength(2);
    expect(await env.DB.prepare("SELECT max(id) FROM sites").first()).toEqual(before);
  });

  it("the form for a new site refuses an unknown home at its field", async () => {
    const { visitor } = await start();
    const form = (await visitor.open("/console")).value("form");
    const page = await visitor.follow(await visitor.post("/console/sites", { form, name: "N", home: "mars" }), "/");
    expect([page.status, page.error("Home")]).toEqual([400, "Choose one of the homes."]);
  });

  it("a new site stays unfinished when its home does not answer, and a button finishes it", async () => {
    const { world, visitor } = await start();
    const brokenVisitor = visitor.through(world.anotherIsolate(brokenHome()));
    const name = `Begun ${world.siteId}`;
    const fill = { Name: name, Home: "apac", "First chat_id": "70" };
    const failedPage = await brokenVisitor.press(await brokenVisitor.open("/console"), "Create site", fill);
    expect([failedPage.status, failedPage.heading]).toEqual([503, "The home apac or the directory does not answer"]);
    const begunSite = await env.DB.prepare("SELECT * FROM sites WHERE name = ?").bind(name).first<{ id: number }>();
    const siteId = begunSite?.id ?? 0;
    expect(begunSite).toMatchObject({ status: "creating", home: "apac" });

    const list = await openList(visitor, siteId);
    expect(list.rows[0]?.[3]).toContain("Unfinished");
    const page = await visitor.open(list.link(name));
    expect(page.text).toContain("Its home did not answer. Finish it when the home answers");
    for (const tab of ["sessions", "apps", "agents"]) {
      const other = await visitor.open(`/console/sites/${siteId}/${tab}`);
      expect([other.status, other.heading]).toEqual([409, "This site is unfinished"]);
    }
    const still = await brokenVisitor.press(page, "Finish this site");
    expect([still.status, still.heading]).toEqual([503, "The home apac or the directory does not answer"]);
    const finishedPages = await Promise.all([
      visitor.press(page, "Finish this site"),
      visitor.press(list, `Finish ${name}`),
      visitor.press(page, "Finish this site"),
    ]);
    for (const each of finishedPages) {
      expect([each.path.split("?")[0], each.notices]).toEqual([`/console/sites/${siteId}`, ["The site was created."]]);
    }
    const { results } = await env.DB.prepare("SELECT id, status FROM sites WHERE name = ?").bind(name).all();
    expect(results).toEqual([{ id: siteId, status: "open" }]);
    expect(await homeRow(siteId)).toMatchObject({ name, chat_id_floor: 69 });
    const { results: audit } = await env.HOME_APAC.prepare("SELECT action FROM audit_log WHERE site_id = ?")
      .bind(siteId)
      .all();
    expect(audit).toEqual([{ action: "site.created" }]);
  });
});

describe("the page Homes", () => {
  it('the page "Homes" is in the navigation and lists each home with its sites and state', async () => {
    const { visitor, world } = await start();
    const page = await visitor.open((await visitor.open("/console")).link("Homes"));
    expect([page.path, page.heading]).toEqual(["/console/homes", "Homes"]);
    const siteCount = await env.DB.prepare(
      "SELECT count(*) AS sites FROM sites WHERE home = 'apac' AND status <> 'deleted'",
    ).first("sites");
    expect(page.rows.map((row) => row.slice(0, 3))).toEqual([
      ["main", "Open", expect.any(String)],
      ["apac", "Open", String(siteCount)],
    ]);
    const closedPage = await visitor.through(world.anotherIsolate(closedHomeVars("apac"))).open("/console/homes");
    expect(closedPage.rows[1]?.[1]).toBe("Closed");
    const down = await visitor.through(world.anotherIsolate(brokenHome())).open("/console/homes");
    expect(down.rows[1]?.[1]).toBe("Down");
  });

  it('the page "Homes" shows the size, growth and estimated full date of each home, or that they are unknown', async () => {
    const { visitor } = await start();
    await env.DB.prepare("DELETE FROM home_metrics").run();
    const unknown = await visitor.open("/console/homes");
    expect(unknown.rows[1]?.slice(3, 6)).toEqual(["Not known", "Not known", "Not known"]);
    const gauges = { size: 8.2e9, sizes: [[NOW - 20 * 86_400, 7.2e9]] };
    await env.DB.prepare("INSERT INTO home_metrics (home, at, copy, counters, gauges) VALUES ('apac', ?, 1, '[]', ?)")
      .bind(NOW, JSON.stringify(gauges))
      .run();
    const page = await visitor.open("/console/homes");
    expect(page.rows[1]?.slice(3, 6)).toEqual([
      "82% 8.2 GB of 10 GB (82%)",
      "50 MB a day measured since 26 Dec 2026",
      "about 20 Feb 2027, in 36 days",
    ]);
    expect(page.text).toContain("Before a home is full: make new sites in another home");
    expect(page.text).toContain("Sizes as of 15 Jan 2027, 08:00.");
  });

  it("a restored home is reconciled in the console after a confirmation, and the page shows the result", async () => {
    const { visitor: openVisitor, world, site } = await start();
    const lostApp = await (await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Lost" })).json<{
      appid: string;
    }>();
    await env.HOME_APAC.prepare("DELETE FROM apps WHERE appid = ?").bind(lostApp.appid).run();
    await world.chatId();
    const before = await homeRow(world.siteId);
    const early = await openVisitor.open("/console/homes/apac/restored");
    expect(early.notices).toEqual(["The home apac is not closed"]);
    const refusal = await openVisitor.press(await openVisitor.press(early, "Go on…"), "It was restored: skip now");
    expect([refusal.status, refusal.heading, await homeRow(world.siteId)]).toEqual([409, "This home is open", before]);
    const visitor = openVisitor.through(world.anotherIsolate(closedHomeVars("apac")));
    const homes = await visitor.open("/console/homes");
    const form = await visitor.open(homes.link("It was restored… apac"));
    expect([form.heading, form.value("Session numbers to skip (chat_id)")]).toEqual(["Restored home apac", "1000000"]);
    expect(form.notices).toEqual([]);
    const askPage = await visitor.press(form, "Go on…", { "Session numbers to skip (chat_id)": "2000" });
    expect([askPage.heading, await homeRow(world.siteId)]).toEqual(["Was the home apac restored?", before]);
    expect(askPage.text).toContain("Session numbers to skip (chat_id) 2,000");
    expect(askPage.link("Cancel")).toBe("/console/homes/apac/restored");

    const donePage = await visitor.press(askPage, "It was restored: skip now");
    expect([donePage.status, donePage.notices]).toEqual([
      200,
      ["The sites of the home apac have skipped session numbers (chat_id)"],
    ]);
    expect(donePage.text).toContain("Session numbers skipped (chat_id) 2,000");
    expect(donePage.html).toContain(`datetime="${new Date((NOW + 1860) * 1000).toISOString()}"`);
    expect(donePage.link(lostApp.appid)).toBe(`${site}/apps`);
    expect(donePage.rows.find(([appid]) => appid === lostApp.appid)?.[2]).toContain("issue it again with this appid");
    expect(await homeRow(world.siteId)).toMatchObject({ chat_id_floor: 2001 });
    // The same form or page again is the same reconciliation and skips no more ids.
    await visitor.submit(askPage, "It was restored: skip now");
    const pageAgain = await visitor.press(await visitor.open(askPage.path), "It was restored: skip now");
    expect(pageAgain.text).toContain("Session numbers skipped (chat_id) 0");
    const chinese = await visitor.press(donePage, "中文");
    expect([chinese.path, chinese.heading]).toEqual([donePage.path, "已恢复的数据库（home）apac"]);
    await visitor.submit(chinese, "English");
    expect(await homeRow(world.siteId)).toMatchObject({ chat_id_floor: 2001 });
    expect(await world.chatId()).toBe(2002);
    // A forged link must not show such a result.
    const forged = donePage.path.replace("%3A2000%2C", "%3A9000%2C");
    expect(forged).not.toBe(donePage.path);
    expect((await visitor.open(forged)).text).not.toContain("have skipped session numbers");
    await env.DB.prepare("DELETE FROM app_routes WHERE appid = ?").bind(lostApp.appid).run();
  });

  it("after a restore of main the console lists the tokens, and each deletion leads back to that list", async () => {
    const { visitor: openVisitor, world } = await start("main");
    const visitor = openVisitor.through(world.anotherIsolate(closedHomeVars("main")));
    const { id } = await newToken({
      name: "0 came back",
      role: "viewer",
      siteId: world.siteId,
      lastUsedAt: NOW - 3600,
    });
    await newToken({ name: "0 expired", expiresAt: NOW });
    const askPage = await visitor.press(await visitor.open("/console/homes/main/restored"), "Go on…");
    const donePage = await visitor.press(askPage, "It was restored: skip now");
    expect(donePage.text).toContain("Which of these tokens were deleted since the restored time?");
    const row = ["viewer", "Site", "now", "07:00–08:00", "never"];
    expect(donePage.rows.filter(([name]) => name?.startsWith("0 "))).toEqual([
      [`0 came back ${id}`, ...row, "Actions for 0 came back Delete… 0 came back"],
    ]);
    const after = await visitor.press(await visitor.open(donePage.link("Delete… 0 came back")), "Delete");
    expect(after.notices).toEqual([
      "The token was deleted: it opens nothing any more.",
      "The sites of the home main have skipped session numbers (chat_id)",
    ]);
    expect(after.text).not.toContain("0 came back");
    const other = visitor.through(world.anotherIsolate(closedHomeVars("apac")));
    const apac = await other.press(await other.open("/console/homes/apac/restored"), "Go on…");
    expect((await other.press(apac, "It was restored: skip now")).text).not.toContain("Which of these tokens");
  });

  it("after a restore of main the console lists the people who may come in, and ending one leads back to that list", async () => {
    const { visitor: openVisitor, world } = await start("main");
    const visitor = openVisitor.through(world.anotherIsolate(closedHomeVars("main")));
    const { id } = await newPerson({ name: "0 is back", role: "viewer", siteId: world.siteId });
    await newPerson({ name: "0 is over", expiresAt: NOW });
    await newPerson({ name: "0 is ended", deletedAt: NOW });
    const askPage = await visitor.press(await visitor.open("/console/homes/main/restored"), "Go on…");
    const donePage = await visitor.press(askPage, "It was restored: skip now");
    expect(donePage.text).toContain("Whose access was ended since the restored time?");
    expect(donePage.rows.filter(([name]) => name?.startsWith("0 is"))).toEqual([
      [`0 is back ${id}`, "viewer", "Site", "own token", "Never", "never", "Actions for 0 is back End… 0 is back"],
    ]);
    const after = await visitor.press(await visitor.open(donePage.link("End… 0 is back")), "End the access");
    expect(after.notices).toEqual([
      "Their access has ended, and they are signed out.",
      "The sites of the home main have skipped session numbers (chat_id)",
    ]);
    expect(after.text).not.toContain("0 is back");
  });

  it("the page of a restored home has the steps of the docs, in their order", async () => {
    const { visitor } = await start();
    const [, section = ""] = OPERATING.split("\n## Restoring a home\n");
    const steps = [...section.matchAll(/^\d\. \*\*(.+?)\.?\*\*/gm)].map(([, begins]) => begins);
    expect(steps.length).toBeGreaterThan(5);
    const { html } = await visitor.open("/console/homes/apac/restored");
    expect([...html.matchAll(/<li><strong>(.+?)\.<\/strong>/g)].map(([, begins]) => begins)).toEqual(steps);
  });

  it("the page of a restored home refuses to skip zero or too many ids", async () => {
    const { visitor, world, site } = await start();
    const before = await homeRow(world.siteId);
    const form = await visitor.open("/console/homes/apac/restored");
    const token = (await visitor.open(`${site}/agents`)).value("form");
    for (const lift of ["", "1000000001"]) {
      const page = await visitor.press(form, "Go on…", { "Session numbers to skip (chat_id)": lift });
      expect([lift, page.status, page.link("Session numbers to skip (chat_id)")]).toEqual([lift, 400, "#lift"]);
      expect((await visitor.post("/console/homes/apac/restored", { form: token, lift })).status).toBe(400);
    }
    expect(await homeRow(world.siteId)).toEqual(before);
  });

  it("the page of a restored home is 404 for an unknown home", async () => {
    const { visitor } = await start();
    expect((await visitor.get("/console/homes/mars/restored")).status).toBe(404);
  });
});
