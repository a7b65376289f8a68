import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { DeliveringWorker, deliveriesOf, fillDeliveries, setWebhook } from "../../../support/deliveries.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { NOW, World } from "../../../support/world.ts";

async function start() {
  const world = await World.create({ EVENTS: undefined }, "apac");
  const visitor = await ConsoleVisitor.signedIn(world);
  const webhook = await newWebhook(world);
  const site = `/console/sites/${world.siteId}`;
  return { world, visitor, webhook, site, path: `${site}/webhooks/${webhook.id}` };
}

type Started = Awaited<ReturnType<typeof start>>;

/** The seqs of the rows, from the top. */
const seqsOf = ({ rows }: ConsolePage) => rows.map(([event]) => event?.split(" ").at(-1));

/** Changes all deliveries of the webhook. */
const setAll = ({ webhook }: Started, assignments: string, where = "true") =>
  env.HOME_APAC.prepare(`UPDATE deliveries SET ${assignments} WHERE webhook_id = ? AND ${where}`)
    .bind(webhook.id)
    .run();

const FAILED = "status = 'failed', attempts = 8, next_attempt_at = NULL";

/** How many links of the page lead to this path. */
const linksTo = (page: ConsolePage, path: string) => page.links.filter((each) => each === path).length;

describe("a ping", () => {
  it("a ping is sent once by a button, and its row shows that it is on its way and then its result", async () => {
    const started = await start();
    const { visitor, webhook, path } = started;
    const page = await visitor.open(path);
    expect(page.text).toContain("No deliveries here.");
    expect(page.text).toContain("A ping goes before everything that is pending, also to a receiver that hangs");
    let result = page;
    for (const _ of [1, 2]) {
      result = await visitor.press(page, "Send a ping");
      expect([result.path.replace(/\?.*#/, "#"), result.notices]).toEqual([`${path}#event-1`, []]);
      expect(result.html).toContain('<tr id="event-1">');
      expect(result.rows).toEqual([["ping 1", "On its way", "No answer yet next in turn", "–", "now", "Send again 1"]]);
    }
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    expect(worker.posted).toHaveLength(1);
    const delivered = ["ping 1", "Delivered", "The receiver answered 200 attempt 1", "–", "now", "Send again 1"];
    expect((await visitor.open(result.path.replace(/#.*/, ""))).rows).toEqual([delivered]);
  });

  it("a ping that failed is not offered to be sent again with all that failed, and an event that failed is", async () => {
    const started = await start();
    const { world, visitor, path } = started;
    await visitor.press(await visitor.open(path), "Send a ping");
    await setAll(started, FAILED);
    expect((await visitor.open(path)).html).not.toContain("Send all failed again");
    await world.chatId();
    await setAll(started, FAILED);
    expect((await visitor.open(path)).html).toContain("Send all failed again (2)");
  });

  it("a ping is not sent to a webhook that was disabled since the page was shown, and the page says so", async () => {
    const { visitor, webhook, path } = await start();
    const page = await visitor.open(path);
    await setWebhook(webhook, "status = 'disabled', disabled_reason = 'gone'");
    const late = await visitor.press(page, "Send a ping");
    expect(late.notices).toEqual(["Disabled by the Worker: the receiver answered 410."]);
    expect(await deliveriesOf(webhook)).toEqual([]);
  });
});

describe("the deliveries of a webhook", () => {
  it("the deliveries of a webhook are listed newest first with their last answer, next step and session", async () => {
    const started = await start();
    const { world, visitor, webhook, site, path } = started;
    const chatId = await world.chatId();
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response("<b>no</b>", { status: 503 });
    await worker.deliver(webhook);
    await world.chatId();
    const page = await visitor.open(path);
    expect(page.rows).toEqual([
      [
        "session.created 2",
        "Pending",
        "No answer yet next in turn, 3 at a time while failing",
        "Session 2",
        "now",
        "Send again 2",
      ],
      [
        "session.created 1",
        "Pending",
        "The receiver answered 503 attempt 1 of 8 · next attempt in 5 seconds",
        "Session 1",
        "now",
        "Send again 1",
      ],
    ]);
    expect(page.html).toContain("&lt;b&gt;no&lt;/b&gt;");
    expect(page.html).not.toContain("<b>no");
    expect(page.link(`Session ${chatId}`)).toBe(`${site}/sessions/${chatId}`);
    expect((await visitor.open(page.link(`Session ${chatId}`))).status).toBe(200);
    expect(page.text).toContain("Failing for 1 second");
  });

  it("a delivery shows its next step, and no time in the past", async () => {
    const started = await start();
    const { visitor, webhook, path } = started;
    const cases: [columns: string, next: string, whileFailing?: string][] = [
      [`claim = 'lease', next_attempt_at = ${NOW + 30}`, "being sent now"],
      [`claim = 'lease', next_attempt_at = ${NOW - 30}`, "next in turn", "next in turn, 3 at a time while failing"],
      [`next_attempt_at = ${NOW - 3_000}`, "next in turn", "next in turn, 3 at a time while failing"],
      [`next_attempt_at = ${NOW + 7_200}`, "next attempt in 2 hours"],
    ];
    await fillDeliveries(webhook, cases.length);
    await setAll(started, "attempts = 2, last_error = 'no answer in 15 s'");
    for (const [at, [columns]] of cases.entries()) await setAll(started, columns, `seq = ${at + 1}`);
    const shownText = async () => (await visitor.open(path)).rows.map((row) => row[2]).reverse();
    const expected = (next: string) => `No answer within 15 s attempt 2 of 8 · ${next}`;
    expect(await shownText()).toEqual(cases.map(([, next]) => expected(next)));
    await setWebhook(webhook, `failing_since = ${NOW - 60}`);
    expect(await shownText()).toEqual(cases.map(([, next, whileFailing = next]) => expected(whileFailing)));
  });

  it("a failed delivery shows the reason in the reader's language", async () => {
    const started = await start();
    const { visitor, webhook, path } = started;
    const cases = [
      ["last_error = 'no answer in 15 s'", "No answer within 15 s", "15 秒内没有应答"],
      ["last_error = 'no connection'", "No connection to the receiver", "无法连接到接收方"],
      [
        "last_status = 302, last_error = 'redirects are not followed'",
        "The receiver answered 302 · Redirects are not followed",
        "接收方返回了 302 · 不跟随重定向",
      ],
      ["last_error = 'the URL must use port 443'", "The URL must use port 443", "URL 须使用 443 端口"],
      ["last_status = 500, last_error = 'HTTP 500: {0} no answer'", "The receiver answered 500", "接收方返回了 500"],
      [
        "last_status = 530, last_error = 'HTTP 530, error 1016: the host name does not resolve'",
        "HTTP 530, error 1016: the host name does not resolve",
        "HTTP 530，错误 1016：主机名无法解析",
      ],
      [
        "last_status = 521, last_error = 'HTTP 521: the host refuses connections: No connection 7'",
        "HTTP 521: the host refuses connections",
        "HTTP 521：主机拒绝连接",
      ],
      ["last_status = 204", "The receiver answered 204", "接收方返回了 204"],
    ] as const;
    await fillDeliveries(webhook, cases.length);
    await setAll(started, "status = 'failed', next_attempt_at = NULL");
    for (const [at, [columns]] of cases.entries()) await setAll(started, columns, `seq = ${at + 1}`);
    const shownText = async (language: string) =>
      (await visitor.open(path, { "accept-language": language })).rows.map((row) => row[2]).reverse();
    expect(await shownText("en")).toEqual(cases.map(([, english]) => english));
    expect(await shownText("zh-CN")).toEqual(cases.map(([, , chinese]) => chinese));
  });

  it("the deliveries of a webhook have a tab for each status, with counts of pending and failed ones", async () => {
    const started = await start();
    const { world, visitor, path } = started;
    for (let count = 0; count < 5; count++) await world.chatId();
    await setAll(started, FAILED, "seq > 2");
    const page = await visitor.open(path);
    for (const [tab, query, seqs] of [
      ["Pending 2", "?status=pending", ["2", "1"]],
      ["Failed 3", "?status=failed", ["5", "4", "3"]],
      ["Skipped", "?status=skipped", []],
      ["Delivered", "?status=delivered", []],
      ["All", "", ["5", "4", "3", "2", "1"]],
    ] as const) {
      expect(page.link(tab)).toBe(path + query);
      expect(seqsOf(await visitor.open(page.link(tab)))).toEqual(seqs);
    }
    expect((await visitor.open(`${path}?status=lost`)).rows).toHaveLength(5);
  });

  describe("many deliveries", () => {
    let many: Started;
    beforeAll(async () => {
      many = await start();
      await fillDeliveries(many.webhook, 45);
      await setAll(many, FAILED, "seq > 2");
    });

    it.each([
      ["", 45],
      ["?status=failed", 43],
    ])("a long list of deliveries can be paged to the oldest and back: %s", async (query, count) => {
      const { visitor, path } = many;
      const all = Array.from({ length: count }, (_, i) => String(45 - i));
      const [first, second, rest] = [all.slice(0, 20), all.slice(20, 40), all.slice(40)];
      const pages = [await visitor.open(path + query)];
      for (const expected of [first, second, rest]) {
        const page = pages.at(-1) as ConsolePage;
        expect(seqsOf(page)).toEqual(expected);
        if (expected !== rest) pages.push(await visitor.open(page.link("Next page")));
      }
      const [one, two, three] = pages as [ConsolePage, ConsolePage, ConsolePage];
      for (const link of ["First page", "Previous page"]) expect(() => one.link(link)).toThrow("no link");
      for (const link of ["Next page", "Last page"]) expect(() => three.link(link)).toThrow("no link");
      expect(seqsOf(await visitor.open(three.link("Previous page")))).toEqual(second);
      expect(seqsOf(await visitor.open(two.link("Previous page")))).toEqual(first);
      expect(seqsOf(await visitor.open(two.link("First page")))).toEqual(first);
      // The last page is full, and reaches to the oldest.
      const last = await visitor.open(one.link("Last page"));
      expect(seqsOf(last)).toEqual(all.slice(-20));
      expect(() => last.link("Next page")).toThrow("no link");
      const before = await visitor.open(last.link("Previous page"));
      expect(seqsOf(before)).toEqual(all.slice(-40, -20));
      // With too few newer ones for a page, the newest page follows.
      const newest = await visitor.open(before.link("Previous page"));
      expect([seqsOf(newest), linksTo(newest, `${path}${query}`)]).toEqual([first, 1]);
    });
  });

  it("a short list of deliveries has one page, and a page beyond it says that it is empty", async () => {
    const { world, visitor, path } = await start();
    await world.chatId();
    const page = await visitor.open(`${path}?after=0`);
    expect([seqsOf(page), page.text.includes("Last page")]).toEqual([["1"], false]);
    const beyondPage = await visitor.open(`${path}?before=1`);
    expect([beyondPage.text.includes("No deliveries here."), beyondPage.link("First page")]).toEqual([true, path]);
  });

  it("a delivery whose event is gone is listed as skipped, without type, session and button", async () => {
    const started = await start();
    const { world, visitor, path } = started;
    await world.chatId();
    await setAll(started, "status = 'skipped', next_attempt_at = NULL");
    await env.HOME_APAC.prepare("DELETE FROM events WHERE site_id = ?").bind(world.siteId).run();
    for (const query of ["", "?status=skipped"]) {
      const page = await visitor.open(path + query);
      expect(page.rows).toEqual([["(not kept any more) 1", "Skipped", "–", "–", "now", "–"]]);
      expect(() => page.link("Session 1")).toThrow("no link");
    }
  });
});

describe("a webhook whose receiver is waited for", () => {
  it("the page of a webhook asks again by itself while events are on their way, and has a link that does", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    const waits = async (at = path) => (await visitor.open(at)).html.includes("data-refresh");
    expect(await waits()).toBe(false);
    await world.chatId();
    expect([await waits(), (await visitor.open(path)).link("Look again")]).toEqual([true, path]);
    // The backlog of a receiver that fails may last for a day. What was just sent is waited for.
    await setWebhook(webhook, `failing_since = ${NOW - 60}`);
    expect(await waits()).toBe(false);
    const pinged = await visitor.press(await visitor.open(path), "Send a ping");
    expect(await waits(pinged.path.replace(/#.*/, ""))).toBe(true);
    await setAll(started, "status = 'delivered', next_attempt_at = NULL");
    expect(await waits(pinged.path.replace(/#.*/, ""))).toBe(false);
  });

  it("no page asks again by itself for events of a closed home, and each says that they wait until it is open", async () => {
    const { world, visitor, site, path } = await start();
    const chatId = await world.chatId();
    const closed = visitor.through(world.anotherIsolate(closedHomeVars("apac")));
    const list = await closed.press(await closed.open(path), "Send again 1");
    expect(list.text).toContain("Enabled Events wait until the home is open.");
    expect(list.rows[0]?.slice(1, 3)).toEqual(["Pending", "No answer yet once the home is open"]);
    const delivery = await closed.open(`${path}/deliveries/1`);
    expect(delivery.fact("Next attempt")).toBe("once the home is open");
    for (const page of [list, delivery, await closed.open(`${site}/sessions/${chatId}`)]) {
      expect(page.text).toContain("Nothing goes on here until the home is open.");
      expect(page.html).not.toContain("data-refresh");
      expect(page.text).not.toMatch(/on (its|their) way|next in turn/i);
    }
  });

  it("the page of a disabled webhook asks again by itself while its pending deliveries are being ended", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    await world.chatId();
    await setWebhook(webhook, "status = 'disabled'");
    expect((await visitor.open(path)).link("Look again")).toBe(path);
    await setAll(started, FAILED);
    expect((await visitor.open(path)).html).not.toContain("data-refresh");
  });
});

describe("sending one event again", () => {
  it("an event that was sent again is reported in its own row, which stays in the filtered list", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    for (let count = 0; count < 3; count++) await world.chatId();
    await setAll(started, FAILED);
    const page = await visitor.open(`${path}?status=failed`);
    const sentPage = await visitor.press(page, "Send again 2");
    expect(sentPage.path).toMatch(/\?status=failed&again=2\..*#event-2$/);
    expect(sentPage.rows.map(([event, state]) => [event, state])).toEqual([
      ["session.created 3", "Failed"],
      ["session.created 2", "On its way"],
      ["session.created 1", "Failed"],
    ]);
    expect([sentPage.notices, sentPage.html.includes('<tr id="event-2">')]).toEqual([[], true]);
    expect(await deliveriesOf(webhook)).toMatchObject([
      { seq: 1, status: "failed", attempts: 8 },
      { seq: 2, status: "pending", attempts: 0 },
      { seq: 3, status: "failed", attempts: 8 },
    ]);
    // The same form again leads to the same row, which shows its present state.
    await setAll(started, "status = 'delivered', attempts = 1, last_status = 200, next_attempt_at = NULL", "seq = 2");
    const pageAgain = await visitor.press(page, "Send again 2");
    expect([pageAgain.path, pageAgain.rows[1]?.[1]]).toEqual([sentPage.path, "Delivered"]);
    expect(await deliveriesOf(webhook)).toMatchObject([{}, { seq: 2, status: "delivered", attempts: 1 }, {}]);
    const other = await ConsoleVisitor.signedIn(world);
    expect((await other.open(sentPage.path.replace(/#.*/, ""))).rows).toHaveLength(2);
    expect((await visitor.open(sentPage.path.replace("again=2", "again=1").replace(/#.*/, ""))).rows).toHaveLength(2);
  });

  it("an erased event cannot be sent again: it has no button, or the page says why", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    await world.chatId();
    await setAll(started, FAILED);
    const page = await visitor.open(path);
    await env.HOME_APAC.prepare("UPDATE events SET data = NULL WHERE site_id = ?").bind(world.siteId).run();
    const late = await visitor.press(page, "Send again 1");
    expect(late.notices).toEqual(["Nothing was sent: the event is not kept any more."]);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "failed" }]);
    await setAll(started, "status = 'skipped'");
    expect((await visitor.open(path)).has("Send again 1")).toBe(false);
  });

  it("an event is not sent again by a form of another session", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    await world.chatId();
    await setAll(started, FAILED);
    const page = await visitor.open(path);
    const other = await ConsoleVisitor.signedIn(world);
    for (const button of ["Send again 1", "Send a ping"]) {
      expect((await other.press(page, button)).notices).toEqual(["Nothing was changed: press it again."]);
    }
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "failed" }]);
  });
});

describe("the audit log", () => {
  it("the audit log says that the Worker disabled a webhook, without the path of its URL", async () => {
    const { world, visitor, webhook, site } = await start();
    await world.chatId();
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response(null, { status: 410 });
    await worker.deliver(webhook);
    const [entry] = (await visitor.open(`${site}/audit`)).rows;
    expect(entry?.slice(0, 3)).toEqual([
      "Worker",
      expect.stringMatching(
        /^Webhook disabled origin https:\/\/hooks\.example\.com · reason: the receiver answered 410 · event evt_[0-9a-f]{32} · Enabled → Disabled$/,
      ),
      webhook.id,
    ]);
  });
});
