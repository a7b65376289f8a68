import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { firstRequestIdAt } from "../../../../src/core/request-id.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { start } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { newRefusal } from "../../../support/new-refusal.ts";
import { DAY, pruneAt } from "../../../support/site-end.ts";
import { beginCounting } from "../../../support/usage.ts";
import { withoutUsage } from "../../../support/without-usage.ts";
import { NOW, type World } from "../../../support/world.ts";

/** The calls of a site on its overview. NOW is 15 January 2027, 08:00 UTC. */

const TODAY = NOW - (NOW % DAY);
/** The time when the calls of NOW are counted. */
const COUNTED = NOW + 1_922;

beforeEach(beginCounting);

/** Moves the clock to COUNTED, and counts all calls. */
async function count(world: World): Promise<void> {
  await pruneAt(COUNTED);
  world.clock.now = COUNTED;
}

/** Stores counts, as the cron stores them. */
async function counts({ siteId, appid, home }: World, rows: [hour: number, outcome: string, count: number][]) {
  const db = databaseOf(home);
  const add = db.prepare("INSERT INTO usage VALUES (?, ?, 'create_session', ?, '', ?, ?, ?, NULL)");
  await db.batch(rows.map(([hour, outcome, number]) => add.bind(siteId, appid, outcome, number, hour, hour)));
}

const titles = ({ html }: ConsolePage) => [...html.matchAll(/<title[^>]*>([^<]*)</g)].map(([, title]) => title);

/** The rows of the table of days. */
const days = ({ html, rows }: ConsolePage) => (html.includes('class="numbers"') ? rows.slice(0, 14) : []);

/** How many bars the picture has. */
const bars = ({ html }: ConsolePage, of: "accepted" | "refused") =>
  [...html.matchAll(new RegExp(`<rect class="${of}"`, "g"))].length;

describe("the overview of a site", () => {
  it("the overview of a site shows each call of today, also to a viewer: in the picture's title, its bars and the table", async () => {
    const { world, visitor, site } = await start();
    const chat = await world.chatId();
    await world.chatId();
    await world.add(chat);
    const key = { "idempotency-key": crypto.randomUUID() };
    await world.create({}, key);
    await world.create({}, key);
    const body = world.createBody();
    await world.send("create_gd", body);
    await world.create({ kefu_id: [99_999], fzr_uid: 99_999 });
    await newRefusal(world, { requestId: firstRequestIdAt(NOW + 1), at: NOW + 1, skipped: 4 });
    await count(world);
    const page = await visitor.open(site);
    // Accepted: four sessions, a repetition and an added agent. Refused: a foreign agent and five stale timestamps.
    expect(page.html).toContain('<svg role="img" aria-labelledby="calls-title"');
    expect(page.html).toContain(
      '<title id="calls-title">Calls in the last 14 days: 12, of which 6 were refused.</title>',
    );
    expect(page.text).toContain("Calls in 14 days 12 Sessions opened 4 Accepted 6 Refused 6");
    expect(days(page)).toHaveLength(14);
    expect(days(page)[0]).toEqual(["15 Jan 2027, so far", "4", "12", "6"]);
    expect(days(page)[1]).toEqual(["14 Jan 2027", "0", "0", "0"]);
    expect(days(page)[13]).toEqual(["2 Jan 2027", "0", "0", "0"]);
    expect([bars(page, "accepted"), bars(page, "refused")]).toEqual([1, 1]);
    expect(titles(page)).toContain("15 Jan 2027: 4 sessions opened, 12 calls, 6 refused");
    expect(page.text).toContain(
      "Days in UTC. Counted up to 15 Jan 2027, 08:00: calls are counted half an hour after they came.",
    );
    expect(page.link("Refused calls")).toBe(`${site}/refusals`);
    const [app] = page.rows.slice(14).filter(([, appid]) => appid === world.appid);
    expect(app?.[3]).toBe("32 min ago");
    const viewer = await visitorWithRole(world, "viewer");
    expect(titles(await viewer.open(site))).toContain("Calls in the last 14 days: 12, of which 6 were refused.");
    expect((await viewer.open(`${site}/apps/${world.appid}`)).text).toContain("Last used 15 Jan 2027, 08:00");
  });

  it("the overview of a site shows the calls of whole days in UTC, the newest first, and no older ones", async () => {
    const { world, visitor, site } = await start();
    await counts(world, [
      [TODAY, "accepted", 1],
      [TODAY - 3_600, "accepted", 2],
      [TODAY - DAY, "repeated", 3],
      [TODAY - DAY, "fields_invalid", 4],
      [TODAY - 13 * DAY, "accepted", 1_000],
      [TODAY - 13 * DAY - 3_600, "accepted", 5_000],
    ]);
    visitor.cookies.set("__Host-zone", "Asia/Shanghai");
    const page = await visitor.open(site);
    const shownDays = days(page).filter(([, , calls]) => calls !== "0");
    expect(shownDays).toEqual([
      ["15 Jan 2027, so far", "1", "1", "0"],
      ["14 Jan 2027", "2", "9", "4"],
      ["2 Jan 2027", "1,000", "1,000", "0"],
    ]);
    expect(titles(page)).toContain("Calls in the last 14 days: 1,010, of which 4 were refused.");
  });
});

describe("the overview of a site without counted calls", () => {
  it("the overview of a new site says that nothing is counted yet, and up to when counts are known", async () => {
    const { visitor, site } = await start();
    const page = await visitor.open(site);
    expect(page.text).toContain("Not counted yet. Days in UTC. Counted up to 15 Jan 2027, 07:");
    expect([page.html.includes("<svg role"), days(page)]).toEqual([false, []]);
    expect(page.rows.at(0)?.[3]).toBe("Not counted yet");
  });

  it("the overview of an older site says that no call is counted in the shown days", async () => {
    const { world, visitor, site } = await start();
    await count(world);
    expect((await visitor.open(site)).text).toContain("No counted calls in the last 14 days. Days in UTC.");
  });

  it("the overview of a site says before the first run of the cron that nothing is counted", async () => {
    const { world, visitor, site } = await start();
    await env.HOME_APAC.prepare("DELETE FROM folds").run();
    await world.chatId();
    for (const path of [site, `${site}/apps`, `${site}/apps/${world.appid}`]) {
      const page = await visitor.open(path);
      expect(page.text).toContain("Nothing is counted yet. Calls are counted half an hour after they came.");
      expect(page.text).not.toMatch(/Never/);
    }
  });
});

describe("a rise of refused calls", () => {
  it("the overview of a site names a rise of refused calls in plain words, with its numbers and a link to these calls", async () => {
    const { world, visitor, site } = await start();
    await counts(world, [
      [TODAY, "timestamp_stale", 12],
      [TODAY - 5 * 3_600, "timestamp_stale", 8],
      [TODAY - 3 * DAY, "timestamp_stale", 7],
      [TODAY, "ranstr_seen_by_kv", 11],
      [TODAY, "fields_invalid", 11],
      [TODAY - 3 * DAY, "fields_invalid", 70],
    ]);
    const page = await visitor.open(site);
    expect(page.text).toContain("Needs attention 2 More refused calls");
    expect(page.text).toContain(
      "The timestamp was too old. 20 in the last 24 hours counted; in the week before, 1 a day.",
    );
    expect(page.link("The timestamp was too old.")).toBe(`${site}/refusals?reason=timestamp_stale`);
    expect(page.link("The one-time text (ranstr) was used before. (ranstr_seen_by_kv)")).toBe(
      `${site}/refusals?reason=ranstr_seen_by_kv`,
    );
    expect(() => page.link("A field broke a rule.")).toThrow();
    const listPage = await visitor.open(page.link("The timestamp was too old."));
    expect([listPage.status, listPage.value("Why")]).toEqual([200, "timestamp_stale"]);
    const chinese = await visitor.open(site, { "accept-language": "zh-CN" });
    expect(titles(chinese)).toContain("最近 14 天的调用：119 次，其中 119 次被拒绝。");
    expect(days(chinese)[0]).toEqual(["2027年1月15日（尚未结束）", "0", "34", "34"]);
    expect(chinese.text).toContain("被拒绝的调用增多");
  });

  it("the overview of a site names no rise of refused calls when all came before the last 24 counted hours", async () => {
    const { world, visitor, site } = await start();
    await counts(world, [[TODAY - DAY, "timestamp_stale", 500]]);
    expect((await visitor.open(site)).text).toContain("Nothing needs attention.");
  });
});

describe("a site with more counts than one answer may have", () => {
  it("the overview of a site shows all its calls when the site has more counts than one answer may have", async () => {
    const { world, visitor, site } = await start();
    await env.HOME_APAC.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 10999)
       INSERT INTO usage SELECT ?, ?, 'create_session', 'reason ' || (i / 14), '', 1, 0, ? - (i % 14) * ${DAY}, NULL FROM n`,
    )
      .bind(world.siteId, world.appid, TODAY)
      .run();
    expect(titles(await visitor.open(site))).toContain(
      "Calls in the last 14 days: 11,000, of which 11,000 were refused.",
    );
  });
});

describe("a home without usage", () => {
  it("the overview of a site leaves the calls out when the home gives no usage, and shows the rest", async () => {
    const { world, visitor, site } = await start();
    await world.chatId({ title: "Parcel" });
    const muted = visitor.through(world.anotherIsolate({ HOME_APAC: withoutUsage(env.HOME_APAC) }));
    const overview = await muted.open(site);
    expect([overview.status, overview.html.includes("<svg role")]).toEqual([200, false]);
    expect(overview.text).toContain("Calls Refused calls This part could not be read. Try again in a moment.");
    expect(overview.text).toContain("Parcel");
    const unreadText = "When apps were last used could not be read. Try again in a moment.";
    for (const path of [site, `${site}/apps`]) {
      const page = await muted.open(path);
      expect(page.rows.find((cells) => cells.includes(world.appid))?.[3]).toBe("–");
      expect([page.status, page.text.includes(unreadText)]).toEqual([200, true]);
    }
    const app = await muted.open(`${site}/apps/${world.appid}`);
    expect([app.status, app.text.includes(unreadText), app.has("Rotate")]).toEqual([200, true, true]);
  });
});
