import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { firstRequestIdAt } from "../../../../src/core/request-id.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { downAround } from "../../../support/down-db.ts";
import { databaseOf } from "../../../support/homes.ts";
import { JournalConsumer, journalOf, keepingJournal } from "../../../support/journal.ts";
import { newRefusal } from "../../../support/new-refusal.ts";
import { NOW, World } from "../../../support/world.ts";

async function start(home = "main") {
  const { sent: messages, JOURNAL } = keepingJournal();
  const world = await World.create({ JOURNAL }, home);
  const visitor = await ConsoleVisitor.signedIn(world);
  const settle = () => new JournalConsumer().write(messages.splice(0));
  return { world, visitor, settle, site: `/console/sites/${world.siteId}` };
}

/** Issues another app on the site. @returns its appid */
async function issueApp(world: World, name: string): Promise<string> {
  const answer = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name });
  return ((await answer.json()) as { appid: string }).appid;
}

/** The counts above the list, by app and by reason. */
const tallies = ({ html }: ConsolePage): string[][] =>
  (/<div class="tallies">.*?<\/div>/s.exec(html)?.[0] ?? "")
    .split("<nav")
    .slice(1)
    .map((nav) => [...nav.matchAll(/<a [^>]*>(.*?)<\/a>/g)].map(([, text = ""]) => text.replace(/<[^>]*>/g, "")));

const idOf = (answer: { headers: Headers }) => answer.headers.get("x-request-id") ?? "";

describe("the refused calls of a site", () => {
  it("the list of refused calls has a line per call, in plain words, with a link to its page and to the check", async () => {
    const { world, visitor, settle, site } = await start();
    const answer = await world.create({ kefu_id: [1, "x"] });
    await settle();
    const page = await visitor.open(`${site}/refusals`);
    expect(page.rows).toEqual([
      [
        "A field broke a rule. kefu_id, item 2, must be a whole number from 1 to 9007199254740991. It was sent as a string.",
        "App",
        "create_gd",
        "400",
        "now",
      ],
    ]);
    expect(page.link("A field broke a rule.")).toBe(`${site}/requests/${idOf(answer)}`);
    const call = await visitor.open(page.link("A field broke a rule."));
    const check = await visitor.open(call.link("Check this request"));
    expect([check.value("Which call is it?"), check.value("appid")]).toEqual(["create_gd", world.appid]);
  });

  it("a journal row from before rows had violations shows its detail quoted in both languages", async () => {
    const { world, visitor, settle, site } = await start();
    const chatId = await world.chatId();
    await world.create({ kefu_id: [1, "x"], title: "" });
    await world.add(chatId, { kefu_ids: "777" });
    await world.create({ timestamp: 1 });
    await settle();
    const read = async () => {
      const texts = ["en", "zh"].map(async (language) => {
        const { html } = await visitor.open(`${site}/refusals?lang=${language}`);
        return [...html.matchAll(/<bdi>([^<]+)<\/bdi>/g)].map(([, text]) => text);
      });
      return [await texts[0], await texts[1]];
    };
    expect((await read())[0]).toContain("kefu_ids: There is nobody to add. Unknown on this site: 777.");
    const rows = await journalOf(world);
    expect(rows.map(({ violations }) => violations?.length).sort()).toEqual([1, 1, 2]);
    await databaseOf(world.home)
      .prepare("UPDATE refusals SET violations = NULL WHERE site_id = ?")
      .bind(world.siteId)
      .run();
    const quotedTexts = rows.map(({ detail }) => `“${detail}”`);
    for (const texts of await read()) expect(texts).toEqual(expect.arrayContaining(quotedTexts));
  });

  it("a refused call shows the violations that fit whole into 500 characters, and quotes the rest", async () => {
    const { world, visitor, settle, site } = await start();
    const ids = Array(100)
      .keys()
      .map((i) => 100 + i)
      .toArray();
    await world.create({ kefu_id: ids, fzr_uid: 100 });
    await settle();
    const [long] = await journalOf(world);
    expect([long?.detail?.length, long?.violations]).toEqual([500, []]);
    const page = await visitor.open(`${site}/requests/${long?.requestId}`);
    expect(page.text).toContain(`“${long?.detail}”`);
  });

  it("the list of refused calls says how many calls were left out", async () => {
    const { world, visitor, site } = await start();
    await newRefusal(world, { requestId: firstRequestIdAt(NOW), skipped: 12_345, reason: "signature_mismatch" });
    expect((await visitor.open(`${site}/refusals`)).rows[0]?.[0]).toContain(
      "12,345 more like it before were left out.",
    );
  });

  it("refused calls are found by app, reason, call and time, from the form and from the app's page", async () => {
    const { world, visitor, site } = await start();
    await newRefusal(world, { requestId: firstRequestIdAt(NOW - 7_200), at: NOW - 7_200, reason: "app_limit" });
    await newRefusal(world, { requestId: firstRequestIdAt(NOW - 60), at: NOW - 60, operation: "add_agents" });
    const page = await visitor.open(`${site}/refusals`);
    const foundPage = async (fill: Record<string, string>) => (await visitor.press(page, "Find", fill)).rows.length;
    expect(await foundPage({ App: world.appid })).toBe(2);
    expect((await visitor.open(`${site}/refusals?appid=another`)).rows).toEqual([]);
    expect(await foundPage({ Why: "app_limit" })).toBe(1);
    expect(await foundPage({ Call: "add_kf" })).toBe(1);
    expect(await foundPage({ From: "2027-01-15T07:00" })).toBe(1);
    expect(await foundPage({ To: "2027-01-15T07:00" })).toBe(1);
    expect(await foundPage({ From: "2027-01-15T05:00", To: "2027-01-15T08:00" })).toBe(2);
    for (const [label, calls] of [
      ["Last hour", 1],
      ["Today", 2],
      ["Last 24 hours", 2],
    ] as const) {
      expect([label, (await visitor.open(page.link(label))).rows.length]).toEqual([label, calls]);
    }
    const app = await visitor.open(`${site}/apps/${world.appid}`);
    expect((await visitor.open(app.link("Refused calls of this app"))).rows).toHaveLength(2);
  });

  it("the list of refused calls shows the active filters, and each can be removed", async () => {
    const { world, visitor, site } = await start();
    await newRefusal(world, { requestId: firstRequestIdAt(NOW - 60), at: NOW - 60 });
    await newRefusal(world, { requestId: firstRequestIdAt(NOW - 50), at: NOW - 50, reason: "app_limit" });
    const both = await visitor.open(`${site}/refusals?reason=app_limit&operation=create_gd`);
    expect(both.rows).toHaveLength(1);
    const href = both.link("Why: The app was over its limit of calls. Take this filter off");
    expect(href).toBe(`${site}/refusals?operation=create_gd`);
    expect((await visitor.open(href)).rows).toHaveLength(2);
    expect(both.link("Clear")).toBe(`${site}/refusals`);
  });

  it("the list of refused calls looks through 10,000 calls for a filter, says how far back it looked, and goes on with the next page", async () => {
    const { world, visitor, site } = await start();
    await newRefusal(world, { requestId: firstRequestIdAt(NOW - 7_200), at: NOW - 7_200, reason: "app_limit" });
    await databaseOf(world.home)
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO refusals SELECT ?1, substr(?2, 1, 24) || printf('%012d', i), ?3, ?4, 'create_session', 401,
           'timestamp_stale', NULL, NULL, NULL, 0, NULL, NULL, NULL FROM n`,
      )
      .bind(world.siteId, firstRequestIdAt(NOW - 60), NOW - 60, world.appid)
      .run();
    const first = await visitor.open(`${site}/refusals?reason=app_limit`);
    expect([first.rows, first.text]).toEqual([
      [],
      expect.stringContaining("10,000 calls were looked through, back to 15 Jan 2027, 07:59."),
    ]);
    const second = await visitor.open(first.link("Next page"));
    expect([second.rows.length, second.text.includes("looked through")]).toEqual([1, false]);
    // A full page needs no further look.
    const full = await visitor.open(`${site}/refusals?reason=timestamp_stale`);
    expect([full.rows.length, full.text.includes("looked through")]).toEqual([50, false]);
  });

  it("refused calls are counted by app and by reason, the largest count first, and each count is a filter", async () => {
    const { world, visitor, site } = await start();
    const quiet = await issueApp(world, "Quiet");
    const noisy = await issueApp(world, "Noisy");
    const refuse = (appid: string, reason: string, ago: number, skipped = 0) =>
      newRefusal(world, { appid, reason, skipped, requestId: firstRequestIdAt(NOW - ago), at: NOW - ago });
    await refuse(quiet, "app_limit", 10);
    await refuse(noisy, "timestamp_stale", 20, 1_233);
    await refuse(noisy, "app_limit", 7_200);
    const page = await visitor.open(`${site}/refusals`);
    expect(tallies(page)).toEqual([
      ["Noisy 1,235", "Quiet 1"],
      ["The timestamp was too old 1,234", "The app was over its limit of calls 2"],
    ]);
    const ofNoisy = await visitor.open(page.link("Noisy 1,235"));
    expect(ofNoisy.rows.map(([, app]) => app)).toEqual(["Noisy", "Noisy"]);
    expect(tallies(ofNoisy)[1]).toEqual(["The timestamp was too old 1,234", "The app was over its limit of calls 1"]);
    const lastHour = await visitor.open(page.link("Last hour"));
    expect(tallies(lastHour)[1]).toEqual(["The timestamp was too old 1,234", "The app was over its limit of calls 1"]);
    const reason = await visitor.open(page.link("The app was over its limit of calls 2"));
    // Both apps have the same count, so the order is that of their random appids.
    expect([tallies(reason)[0]?.toSorted(), reason.rows.length]).toEqual([["Noisy 1", "Quiet 1"], 2]);
  });

  it("the list of refused calls keeps a wrong filter and says what is wrong", async () => {
    const { world, visitor, site } = await start();
    await newRefusal(world, { requestId: firstRequestIdAt(NOW) });
    const form = await visitor.open(`${site}/refusals`);
    for (const [fill, text] of [
      [{ From: "yesterday" }, "Must be a date and a time"],
      [{ From: "2026-01-01T00:00" }, "Calls are kept for 30 days. The time is longer ago."],
      [{ From: "2027-01-15T08:00", To: "2027-01-15T07:00" }, "Must not be after “To”."],
    ] as const) {
      const page = await visitor.press(form, "Find", fill);
      expect([page.status, page.text, page.rows]).toEqual([400, expect.stringContaining(text), []]);
      expect(page.value("From")).toBe(fill.From);
    }
  });

  it("the list of refused calls refuses a malformed appid", async () => {
    const { visitor, site } = await start();
    const page = await visitor.open(`${site}/refusals?appid=a+b`);
    expect([page.status, page.text.includes("Must be 1 to 64 of A–Z a–z 0–9 _ -.")]).toEqual([400, true]);
    expect(page.value("App")).toBe("a b");
  });

  it("the list of refused calls is in Chinese for a Chinese reader, except for quotes", async () => {
    const { world, visitor, settle, site } = await start();
    await world.create({ timestamp: NOW - 301 });
    await settle();
    const chinese = await visitor.get(`${site}/refusals`, { "accept-language": "zh" });
    const html = (await chinese.text()).replace(/<option.*?<\/option>/g, "");
    expect(html).toContain("timestamp 过旧");
    expect(html.replace(/<(code|head|header|footer).*?<\/\1>/gs, "")).not.toMatch(
      /[a-z]+ [a-z]+ [a-z]+ [a-z]+(?![^<]*>)/i,
    );
  });

  it("the list of refused calls says when there are none", async () => {
    const { visitor, site } = await start();
    expect((await visitor.open(`${site}/refusals`)).text).toContain(
      "No call of this site has been refused in the last 30 days.",
    );
    const filteredPage = await visitor.open(`${site}/refusals?reason=app_limit`);
    expect(filteredPage.text).toContain("No refused call fits this filter.");
  });
});

describe("the page of a call", () => {
  it("the page of a refused call explains its answer, reason, cure, secret and network", async () => {
    const { world, visitor, settle, site } = await start();
    const answer = await world.create({ timestamp: NOW - 301 }, { "cf-connecting-ip": "192.0.2.7" });
    await settle();
    const page = await visitor.open(`${site}/requests/${idOf(answer)}`);
    expect(page.heading).toBe("A refused call");
    expect(page.notices).toEqual(["The timestamp was too old."]);
    for (const text of [
      idOf(answer),
      "401 token验证失败!",
      "timestamp_stale",
      "The secret in use",
      "192.0.2.0/24",
      `timestamp: must be within 300 s of ${NOW}, Unix seconds`,
    ]) {
      expect(page.text).toContain(text);
    }
  });

  it("the page of a refused call shows the message of its reason, also when ERROR_STATUS is always-200", async () => {
    const { sent: messages, JOURNAL } = keepingJournal();
    const world = await World.create({ JOURNAL, ERROR_STATUS: "always-200" });
    const answer = await world.create({ timestamp: NOW - 301 });
    await new JournalConsumer().write(messages);
    const visitor = await ConsoleVisitor.signedIn(world);
    const page = await visitor.open(`/console/sites/${world.siteId}/requests/${idOf(answer)}`);
    expect(page.text).toContain("200 token验证失败!");
    expect((await visitor.open(page.link("Check this request"))).text).toContain(
      "This call was answered 200 token验证失败!",
    );
  });

  it("the page of a call shows its session when the call was stored although its answer was 503", async () => {
    const { world, visitor, site } = await start();
    const answer = await world.create();
    const { chat_id } = answer.envelope.data as { chat_id: number };
    await newRefusal(world, { requestId: idOf(answer), status: 503, reason: "d1_unavailable" });
    const page = await visitor.open(`${site}/requests/${idOf(answer)}`);
    expect(page.notices.at(-1)).toBe(`It was done all the same: session ${chat_id}`);
    expect(page.link("To the session")).toBe(`${site}/sessions/${chat_id}`);
  });

  it("the page of a refused call says whether its secret is from before a rotation, or that none verified", async () => {
    const { world, visitor, settle, site } = await start();
    const stale = await world.create({ timestamp: 1 });
    await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 60 });
    const forged = await world.create({}, { "x-chat-signature": "0".repeat(64) });
    await settle();
    const text = async (answer: { headers: Headers }) => (await visitor.open(`${site}/requests/${idOf(answer)}`)).text;
    expect(await text(stale)).toContain("A secret from before a rotation");
    expect(await text(forged)).toContain("None: the signature was not right, or was not checked");
  });

  it("the page of an unknown call shows its time, the calls around it, and how many were left out", async () => {
    const { world, visitor, site } = await start();
    const [before, missing, after] = [
      firstRequestIdAt(NOW - 61),
      firstRequestIdAt(NOW - 60),
      firstRequestIdAt(NOW - 59),
    ];
    await newRefusal(world, { requestId: before });
    await newRefusal(world, { requestId: after, reason: "signature_mismatch", skipped: 1_234 });
    for (const [language, notice] of [
      ["en", "1,234 refused calls within two minutes of it were left out"],
      ["zh", "前后两分钟内，有 1,234 次被拒绝的调用未单独记录"],
    ] as const) {
      const page = await visitor.open(`${site}/requests/${missing}?lang=${language}`);
      expect([page.status, page.text.includes("2027-01-15T07:59:00Z"), page.notices]).toEqual([404, true, [notice]]);
      expect(page.links.filter((href) => href.includes("/requests/"))).toEqual([
        `${site}/requests/${after}`,
        `${site}/requests/${before}`,
      ]);
      expect(page.rows.map(([, app]) => app)).toEqual(["App", "App"]);
    }
  });

  it("the page of an unknown call says when the home did not answer about the calls around it", async () => {
    const { world, visitor, site } = await start("apac");
    const silent = visitor.through(world.anotherIsolate({ HOME_APAC: downAround(env.HOME_APAC) }));
    for (const [language, notice, none] of [
      [
        "en",
        "These homes do not answer, so their calls are missing here: apac",
        "No refused call within two minutes of it",
      ],
      ["zh", "以下数据库（home）无响应，此处缺少它们的调用：apac", "前后两分钟内，记录中没有"],
    ] as const) {
      const path = `${site}/requests/${firstRequestIdAt(NOW - 60)}?lang=${language}`;
      const [page, wholePage] = [await silent.open(path), await visitor.open(path)];
      expect([page.status, page.text.includes(notice), page.text.includes(none)]).toEqual([404, true, false]);
      expect([wholePage.text.includes(notice), wholePage.text.includes(none)]).toEqual([false, true]);
    }
  });

  it("the page of a request id says that the id is malformed, in the future, or too old", async () => {
    const { visitor, site } = await start();
    for (const [id, status, text] of [
      [crypto.randomUUID(), 400, "That is no request id"],
      [firstRequestIdAt(NOW + 61), 404, "That is in the future"],
      [firstRequestIdAt(NOW - 30 * 86_400 - 1), 404, "Refused calls are kept for 30 days, and no longer."],
    ] as const) {
      const page = await visitor.open(`${site}/requests/${id}`);
      expect([page.status, page.text.includes(text)]).toEqual([status, true]);
    }
  });

  it("the page of an accepted call links to its session, and the session's page links back", async () => {
    const { world, visitor, site } = await start();
    const answer = await world.create({}, { "idempotency-key": "k" });
    const { chat_id } = answer.envelope.data as { chat_id: number };
    const page = await visitor.open(`${site}/requests/${idOf(answer)}`);
    expect(page.notices).toEqual([`The call was accepted: session ${chat_id}`]);
    const session = await visitor.open(page.link("To the session"));
    expect(session.link(idOf(answer))).toBe(`${site}/requests/${idOf(answer)}`);
    const secondAnswer = await world.create({ ranstr: "again" }, { "idempotency-key": "k" });
    const repeatedPage = await visitor.open(`${site}/requests/${idOf(secondAnswer)}`);
    expect(repeatedPage.notices).toEqual([`The call was answered like an earlier one: session ${chat_id}`]);
  });
});
