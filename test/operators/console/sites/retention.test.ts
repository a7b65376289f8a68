import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { visitorWithRole } from "../../../support/access-world.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { DAY, endSite, patchSite, pruneAll } from "../../../support/site-end.ts";
import { NOW, World } from "../../../support/world.ts";

/** How a person changes the time for which a site stores its sessions. */

afterEach(() => void vi.unstubAllGlobals());

const CARD = "How long sessions are kept";
const AGAIN = "The number of days again";

/**
 * A site with a session of each of these ages, in days. It is in apac, so that a statement in the directory instead of the home
 * finds nothing.
 */
async function start(ages: number[] = []) {
  const world = await World.create({}, "apac");
  for (const days of ages) {
    world.clock.now = NOW - days * DAY;
    await world.chatId();
  }
  world.clock.now = NOW;
  const visitor = await ConsoleVisitor.signedIn(world);
  return { world, visitor, site: `/console/sites/${world.siteId}` };
}

/** The retention in the home and in the directory, and the details of its audit rows. */
async function storedRetention({ siteId, home }: World) {
  const [inHome, inDirectory] = await Promise.all([
    databaseOf(home).prepare("SELECT retention_days FROM home_sites WHERE site_id = ?").bind(siteId).first(),
    env.DB.prepare("SELECT retention_days FROM sites WHERE id = ?").bind(siteId).first(),
  ]);
  const rows = await databaseOf(home)
    .prepare("SELECT details FROM audit_log WHERE site_id = ? AND action = 'site.retention_set' ORDER BY id")
    .bind(siteId)
    .all<{ details: string }>();
  return {
    days: [inHome?.retention_days, inDirectory?.retention_days],
    audit: rows.results.map(({ details }) => JSON.parse(details)),
  };
}

describe("an owner who sets how long sessions are kept", () => {
  it("an owner who sets a retention sees what would be deleted, types the days twice, and sees the progress", async () => {
    const { world, visitor, site } = await start([400, 31, 5]);
    const form = await visitor.open(`${site}/settings`);
    expect([form.text.includes(CARD), form.value("Days")]).toEqual([true, ""]);
    const askPage = await visitor.press(form, "Go on…", { Days: "30" });
    expect([askPage.path, askPage.heading]).toEqual([`${site}/retention?days=30`, "Keep sessions for 30 days?"]);
    expect(askPage.text).toContain("Now kept for For ever From then on kept for 30 days");
    expect(askPage.text).toContain(
      "Sessions that would go today Sessions to delete, older than 30 days: about 2, from 11 Dec 2025, 08:00 to 16 Dec 2026, 08:00.",
    );
    expect(askPage.text).toContain("Estimated from ids, not counted.");
    expect(askPage.link("Cancel")).toBe(`${site}/settings`);
    expect(await storedRetention(world)).toEqual({ days: [null, null], audit: [] });

    const donePage = await visitor.press(askPage, "Change it now", { [AGAIN]: "30" });
    expect([donePage.notices, donePage.value("Days")]).toEqual([["How long sessions are kept was changed."], "30"]);
    expect(donePage.text).toContain(
      "Sessions to delete, older than 30 days: about 2, from 11 Dec 2025, 08:00 to 16 Dec 2026, 08:00.",
    );
    expect(await storedRetention(world)).toEqual({ days: [30, 30], audit: [{ from: null, to: 30 }] });
    const stillToGo = "Sessions to delete, older than 30 days: about 2,";
    expect((await visitor.open(site)).text).toContain(stillToGo);
    const [row] = (await visitor.open(`${site}/audit`)).rows;
    expect(row?.[1]).toBe("Retention set For ever → 30 days");

    await pruneAll(NOW);
    expect((await world.stored()).sessions).toHaveLength(1);
    expect((await visitor.open(`${site}/settings`)).text).toContain("No session is older than 30 days.");
  });

  it("a retention is not changed unless the same number of days is typed twice", async () => {
    const { world, visitor, site } = await start([400]);
    for (const input of ["", "31"]) {
      const askPage = await visitor.open(`${site}/retention?days=30`);
      const page = await visitor.press(askPage, "Change it now", { [AGAIN]: input });
      expect([page.status, page.error(AGAIN), page.heading]).toEqual([400, "Must be 30, as above", askPage.heading]);
    }
    expect(await storedRetention(world)).toEqual({ days: [null, null], audit: [] });
  });

  it("a longer or removed retention is typed only once, and the page says that nothing is deleted", async () => {
    const { world, visitor, site } = await start([40]);
    await patchSite(world, { retention_days: 60 });
    for (const [input, heading, days] of [
      ["90", "Keep sessions for 90 days?", 90],
      ["", "Keep sessions for ever?", null],
    ] as const) {
      const askPage = await visitor.press(await visitor.open(`${site}/settings`), "Go on…", { Days: input });
      expect([askPage.heading, askPage.text.includes("Nothing is deleted by this:")]).toEqual([heading, true]);
      expect(askPage.text).not.toContain(AGAIN);
      expect((await visitor.press(askPage, "Change it now")).notices).toEqual([
        "How long sessions are kept was changed.",
      ]);
      expect((await storedRetention(world)).days).toEqual([days, days]);
    }
    const log = await visitor.open(`${site}/audit`);
    expect(log.rows.slice(0, 3).map(([, what]) => what?.replace("Retention set ", ""))).toEqual([
      "90 days → For ever",
      "60 days → 90 days",
      "For ever → 60 days",
    ]);
  });
});

describe("the days that sessions are kept", () => {
  it("a wrong number of retention days is refused at its field, and stays in it", async () => {
    const { world, visitor, site } = await start();
    const days = "3651";
    const page = await visitor.press(await visitor.open(`${site}/settings`), "Go on…", { Days: days });
    expect([page.status, page.heading, page.value("Days")]).toEqual([400, "Settings", days]);
    expect(page.error("Days")).toBe("Must be a whole number from 1 to 3650. Leave it empty to keep sessions for ever.");
    const chinese = await visitor.press(page, "中文");
    expect([chinese.path, chinese.value("天数")]).toEqual([page.path, days]);
    const forged = { form: page.value("form"), days, days_again: days };
    expect((await visitor.post(`${site}/retention`, forged)).status).toBe(400);
    expect(await storedRetention(world)).toEqual({ days: [null, null], audit: [] });
  });

  it("a retention may have 1 to 3650 days", async () => {
    const { world, visitor, site } = await start([0.5, 2]);
    for (const [days, words] of [
      ["3650", "3650 days"],
      ["1", "1 day"],
    ] as const) {
      const askPage = await visitor.open(`${site}/retention?days=${days}`);
      expect(askPage.heading).toBe(`Keep sessions for ${words}?`);
      await visitor.submit(askPage, "Change it now", { [AGAIN]: days });
      expect((await storedRetention(world)).days).toEqual([Number(days), Number(days)]);
    }
  });

  it("a retention must be typed twice when somebody else lengthened it since the page was shown", async () => {
    const { world, visitor, site } = await start();
    await patchSite(world, { retention_days: 10 });
    const askPage = await visitor.open(`${site}/retention?days=30`);
    await patchSite(world, { retention_days: null });
    const page = await visitor.press(askPage, "Change it now");
    expect([page.status, page.link(AGAIN)]).toEqual([400, "#days_again"]);
    expect((await storedRetention(world)).days).toEqual([null, null]);
  });

  it("a change of language shows the question about a retention again, and changes nothing", async () => {
    const { world, visitor, site } = await start();
    const askPage = await visitor.open(`${site}/retention?days=30`);
    const wrong = await visitor.press(askPage, "Change it now", { [AGAIN]: "31" });
    const chinese = await visitor.press(wrong, "中文");
    expect([chinese.status, chinese.heading]).toEqual([200, "会话保留 30 天？"]);
    expect((await storedRetention(world)).audit).toEqual([]);
    await visitor.submit(chinese, "立即更改", { 再次输入天数: "30" });
    expect((await storedRetention(world)).audit).toEqual([{ from: null, to: 30 }]);
  });

  it("a retention cannot be changed when the site's deletion has begun", async () => {
    const { world, visitor, site } = await start();
    const askPage = await visitor.open(`${site}/retention?days=30`);
    // The key of the hashes is made once, and only with KV.
    await endSite(await World.create());
    expect((await endSite(world.anotherIsolate({ CREDENTIALS: deafKv() }))).status).toBe(503);
    const page = await visitor.press(askPage, "Change it now", { [AGAIN]: "30" });
    expect([page.status, page.heading]).toEqual([409, "The deletion of this site has begun"]);
    expect((await storedRetention(world)).days).toEqual([null, null]);
  });
});

const deafKv = () =>
  ({
    ...env.CREDENTIALS,
    put: async () => {
      throw new Error("KV is down");
    },
    get: async () => null,
  }) as unknown as KVNamespace;

describe("an operator", () => {
  it("an operator sees the retention and its progress, and cannot change it", async () => {
    const { world, site } = await start([40]);
    await patchSite(world, { retention_days: 30 });
    const visitor = await visitorWithRole(world, "operator");
    const page = await visitor.open(`${site}/settings`);
    expect(page.text).toContain(CARD);
    expect(page.text).toContain("30 days");
    expect(page.text).toContain("Sessions to delete, older than 30 days: about 1,");
    expect(page.forms.map(({ path }) => path)).not.toContain(`${site}/retention`);
  });
});
