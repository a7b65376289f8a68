import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { deliveriesOf, fillDeliveries, setDeliveries, setWebhook } from "../../../support/deliveries.ts";
import { databaseOf } from "../../../support/homes.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { replacing } from "../../../support/replacing.ts";
import { NOW, World } from "../../../support/world.ts";

const FAILED = "status = 'failed', attempts = 8, next_attempt_at = NULL";
const SENT = (count: number | string) => `Events sent again: ${count}. The deliveries below tell what comes of them.`;

async function start(home = "main") {
  const world = await World.create({ EVENTS: undefined }, home);
  const visitor = await ConsoleVisitor.signedIn(world);
  const webhook = await newWebhook(world);
  const path = `/console/sites/${world.siteId}/webhooks/${webhook.id}`;
  return { world, visitor, webhook, path, form: `${path}/send-again` };
}

type Started = Awaited<ReturnType<typeof start>>;

/** The statuses of the deliveries, oldest first. */
const statusesOf = async ({ webhook }: Started) => (await deliveriesOf(webhook)).map(({ status }) => status);

const countsOf = async ({ webhook }: Started) => {
  const { results } = await databaseOf(webhook.home)
    .prepare("SELECT status, count(*) AS n FROM deliveries WHERE webhook_id = ? GROUP BY status ORDER BY status")
    .bind(webhook.id)
    .all<{ status: string; n: number }>();
  return Object.fromEntries(results.map(({ status, n }) => [status, n]));
};

/** The details of the audit rows about sending again, oldest first. */
const auditOf = async ({ world }: Started) => {
  const { results } = await env.DB.prepare(
    "SELECT actor, details FROM audit_log WHERE site_id = ? AND action = 'webhook.redelivered' ORDER BY id",
  )
    .bind(world.siteId)
    .all<{ actor: string; details: string }>();
  return results.map(({ actor, details }): Record<string, unknown> => ({ actor, ...JSON.parse(details) }));
};

/** Three sessions an hour apart from 08:00. Their events have failed, are pending and were delivered. */
async function threeEvents(started: Started) {
  const { world, webhook } = started;
  for (const hour of [0, 1, 2]) {
    world.clock.now = NOW + hour * 3_600;
    await world.chatId();
  }
  const set = (assignments: string, seq: number) =>
    env.DB.prepare(`UPDATE deliveries SET ${assignments} WHERE webhook_id = ? AND seq = ?`).bind(webhook.id, seq).run();
  await set(FAILED, 1);
  await set(`attempts = 3, next_attempt_at = ${NOW + 50_000}`, 2);
  await set("status = 'delivered', attempts = 1, next_attempt_at = NULL", 3);
}

/** Chooses a time range in the form. */
const own = (from = "", to = "") => ({ Time: "own", From: from, To: to });

describe("sending events again", () => {
  it("sending events again first counts what the receiver lacks of the last hour, and sends nothing yet", async () => {
    const started = await start();
    const { visitor, path, world } = started;
    await threeEvents(started);
    await setWebhook(started.webhook, "status = 'disabled'");
    await world.chatId();
    await setWebhook(started.webhook, "status = 'enabled'");
    const before = await deliveriesOf(started.webhook);
    const page = await visitor.open((await visitor.open(path)).link("Send again…"));
    const labels = ["Failed", "Pending", "Missed", "Delivered"];
    expect(labels.map((label) => page.value(label))).toEqual(["on", "on", "on", ""]);
    // The failed event is two hours old.
    expect(page.text).toContain(
      "2 events match: send them again? Failed, Pending, Missed · 15 Jan 2027, 09:00 to 15 Jan 2027, 10:00",
    );
    expect(page.has("Send 2 events again")).toBe(true);
    const day = await visitor.press(page, "Count", {
      Time: "day",
      Pending: "",
      Delivered: "on",
    });
    expect(day.text).toContain("3 events match: send them again? Failed, Missed, Delivered · 14 Jan 2027, 10:00");
    expect(labels.map((label) => day.value(label))).toEqual(["on", "", "on", "on"]);
    expect([await deliveriesOf(started.webhook), await auditOf(started)]).toEqual([before, []]);
  });

  it("sending missed events again takes four pages from the front page", async () => {
    const started = await start();
    const { visitor, world, webhook } = started;
    await world.chatId();
    await setDeliveries(webhook, FAILED);
    await setWebhook(webhook, `failing_since = ${NOW - 900}`);
    // The front page leads to the site, or straight to the webhook.
    const site = await visitor.open(`/console/sites/${world.siteId}`);
    const failing = await visitor.open(site.link("hooks.example.com"));
    const preview = await visitor.open(failing.link("Send again…"));
    const sentPage = await visitor.press(preview, "Send again");
    expect([sentPage.notices, await statusesOf(started)]).toEqual([[SENT(1)], ["pending"]]);
  });

  it("sending events again can begin at the time when the webhook began to fail", async () => {
    const started = await start();
    const { visitor, form, webhook, world } = started;
    await threeEvents(started);
    expect((await visitor.open(form)).text).not.toContain("Since it began to fail");
    // Without a failure, a link with this choice means a day.
    expect((await visitor.open(`${form}?time=failing&failed=on`)).text).toContain("1 event matches: send it again?");
    await setWebhook(webhook, `failing_since = ${NOW + 1_800}`);
    const failingPage = await visitor.open(form);
    expect(failingPage.text).toContain("Since it began to fail: 15 Jan 2027, 08:30");
    const page = await visitor.press(failingPage, "Count", {
      Time: "failing",
      Delivered: "on",
    });
    expect(page.text).toContain(
      "2 events match: send them again? Failed, Pending, Missed, Delivered · 15 Jan 2027, 08:30",
    );
    await visitor.submit(page, "Send 2 events again");
    expect(await deliveriesOf(webhook)).toMatchObject([
      { status: "failed" },
      { status: "pending" },
      { status: "pending" },
    ]);
    expect(await auditOf(started)).toMatchObject([{ since: NOW + 1_800, until: world.clock.now, queued: 2 }]);
  });

  it("sending events again sends exactly what was counted, once, and leaves one audit row", async () => {
    const started = await start();
    const { visitor, path, form, world } = started;
    await threeEvents(started);
    const preview = await visitor.press(await visitor.open(form), "Count", { ...own("2027-01-15T09:00"), Missed: "" });
    expect([preview.value("From"), preview.value("To")]).toEqual(["2027-01-15T09:00", ""]);
    expect(preview.text).toContain("1 event matches: send it again?");
    const until = world.clock.now;
    // Events after the count are not sent.
    world.clock.now += 60;
    await world.chatId();
    for (const _ of [1, 2]) {
      const sentPage = await visitor.press(preview, "Send again");
      expect([sentPage.path.split("?")[0], sentPage.notices]).toEqual([path, [SENT(1)]]);
    }
    expect(await deliveriesOf(started.webhook)).toMatchObject([
      { status: "failed", attempts: 8 },
      { status: "pending", attempts: 0, next_attempt_at: world.clock.now },
      { status: "delivered", attempts: 1 },
      { status: "pending" },
    ]);
    expect(await auditOf(started)).toMatchObject([
      { actor: "console", status: ["failed", "pending"], since: NOW + 3_600, until, queued: 1 },
    ]);
    const log = await visitor.open(`/console/sites/${world.siteId}/audit`);
    expect(log.text).toContain("Events sent again");
  });

  it("sending events again takes times in the reader's time zone, with the whole last minute", async () => {
    const started = await start();
    const { visitor, form, world } = started;
    await threeEvents(started);
    await env.DB.prepare("UPDATE events SET created_at = created_at + 59 WHERE site_id = ?").bind(world.siteId).run();
    visitor.cookies.set("__Host-zone", "Asia/Shanghai");
    const page = await visitor.open(form);
    expect(page.text).toContain("When the event happened, in Asia/Shanghai.");
    const matches = async (from: string, to: string) => {
      const { text } = await visitor.press(page, "Count", { Delivered: "on", ...own(from, to) });
      return /(\S+) events? match/.exec(text)?.[1];
    };
    expect(await matches("2027-01-15T16:00", "2027-01-15T17:00")).toBe("2");
    expect(await matches("2027-01-15T16:00:59", "2027-01-15T17:00:58")).toBe("1");
    expect(await matches("2027-01-15T08:00", "2027-01-15T15:59")).toBe("No");
  });

  it("sending events again sends events missed while the webhook was disabled, and needs a time to begin with", async () => {
    const started = await start();
    const { visitor, form, world, webhook } = started;
    await setWebhook(webhook, "status = 'disabled'");
    await world.chatId();
    await setWebhook(webhook, "status = 'enabled'");
    expect(await statusesOf(started)).toEqual([]);
    const page = await visitor.open(form);
    const fill = { Failed: "", Pending: "" };
    const refusal = await visitor.press(page, "Count", { ...fill, ...own() });
    expect([refusal.status, refusal.error("From")]).toEqual([400, "Missed events need a time to begin with."]);
    expect([refusal.value("Failed"), refusal.value("Missed"), refusal.has("Send again")]).toEqual(["", "on", false]);
    const postAnswer = await visitor.post(form, { form: page.value("form"), missed: "on" });
    expect([postAnswer.status, await statusesOf(started)]).toEqual([400, []]);
    const preview = await visitor.press(page, "Count", { ...fill, ...own("2027-01-15T00:00") });
    const sentPage = await visitor.press(preview, "Send again");
    expect([sentPage.notices, await statusesOf(started)]).toEqual([[SENT(1)], ["pending"]]);
  });

  it("an enabled webhook offers to send again what it missed while it was disabled", async () => {
    const started = await start();
    const { visitor, path, world, webhook } = started;
    await world.chatId();
    world.clock.now = NOW + 60;
    const askPage = await visitor.open(`${path}/disable`);
    await visitor.submit(askPage, "Disable");
    world.clock.now = NOW + 7_200;
    await world.chatId();
    world.clock.now = NOW + 9_000;
    const disabledPage = await visitor.open(path);
    for (const _ of [1, 2]) {
      const enabledPage = await visitor.press(disabledPage, "Enable");
      expect(enabledPage.notices).toEqual(["The webhook is enabled. It got nothing since 15 Jan 2027, 08:01."]);
      const preview = await visitor.open(enabledPage.link("Send what it missed…"));
      // The delivery that was pending is from before that time, and is not counted.
      expect(preview.text).toContain("1 event matches: send it again? Failed, Missed · 15 Jan 2027, 08:01");
      expect(preview.value("From")).toBe("2027-01-15T08:01:00");
    }
    const other = await ConsoleVisitor.signedIn(world);
    const enabled = (await visitor.press(disabledPage, "Enable")).path;
    expect((await other.open(enabled)).notices).toEqual([]);
    await setWebhook(webhook, "status = 'disabled'");
    expect((await visitor.open(enabled)).notices).toEqual(["Disabled by an operator."]);
  });

  it("an enabled webhook offers events from its first failure when it failed before it was disabled", async () => {
    const { visitor, path, webhook } = await start();
    await setWebhook(webhook, `status = 'disabled', failing_since = ${NOW - 3_600}, disabled_at = ${NOW}`);
    const enabledPage = await visitor.press(await visitor.open(path), "Enable");
    expect(enabledPage.notices).toEqual(["The webhook is enabled. It got nothing since 15 Jan 2027, 07:00."]);
    expect((await visitor.open(enabledPage.link("Send what it missed…"))).value("From")).toBe("2027-01-15T07:00:00");
  });

  describe("a wrong form", () => {
    let started: Started;
    let page: ConsolePage;
    let before: Awaited<ReturnType<typeof deliveriesOf>>;
    beforeAll(async () => {
      started = await start();
      await threeEvents(started);
      page = await started.visitor.open(started.form);
      before = await deliveriesOf(started.webhook);
    });
    afterAll(async () => {
      expect([await deliveriesOf(started.webhook), await auditOf(started)]).toEqual([before, []]);
    });

    it.each([
      [{ Failed: "", Pending: "", Missed: "" }, "Which events", "Tick at least one of them."],
      [own("2027-01-15T10:00", "2027-01-15T09:00"), "From", "Must not be after “To”."],
      [own("2027-02-30T10:00"), "From", "Must be a date and a time"],
      [own("2027-01-15T09:00", "yesterday"), "To", "Must be a date and a time"],
    ] as const)(
      "sending events again refuses a wrong field at that field, and the form keeps what was entered: %j",
      async (fill, label, rule) => {
        const { visitor } = started;
        const refusal = await visitor.press(page, "Count", fill);
        expect([refusal.status, refusal.notices, refusal.error(label)]).toEqual([400, ["Nothing was changed."], rule]);
        expect(refusal.html).not.toContain("send them again?");
        const { Time: time, ...input } = { ...own(), ...fill };
        const values = { ...input, ...("From" in fill && { Time: time }) };
        for (const [name, value] of Object.entries(values)) expect([name, refusal.value(name)]).toEqual([name, value]);
        const chinese = await visitor.press(refusal, "中文");
        expect([chinese.path, chinese.status]).toEqual([refusal.path, 400]);
        await visitor.submit(chinese, "English");
      },
    );

    it("sending events again refuses a forged form at the wrong field", async () => {
      const { visitor, form } = started;
      const token = page.value("form");
      for (const [fields, error] of [
        [{}, "statuses"],
        [{ failed: "on", since: "5", until: "4" }, "since"],
        [{ failed: "on", since: "soon" }, "since"],
        [{ failed: "on", since: String(NOW * 1000) }, "since"],
        [{ failed: "on", until: "99999999999999999999" }, "until"],
      ] as const) {
        const refusal = await visitor.post(form, { form: token, ...fields });
        expect([refusal.status, (await refusal.text()).includes(`id="${error}-error"`)]).toEqual([400, true]);
        // The same fields in an address.
        expect((await visitor.get(`${form}?${new URLSearchParams({ ...fields, time: "own" })}`)).status).toBe(400);
      }
    });
  });

  it("sending events again goes on with the rest of the same time range until nothing is left", async () => {
    const started = await start();
    const { visitor, form, world, webhook } = started;
    await fillDeliveries(webhook, 20_002);
    await setDeliveries(webhook, FAILED);
    const preview = await visitor.open(form);
    expect(preview.text).toContain("20,000 events or more match: send them again?");
    const some = await visitor.press(preview, "Send again");
    expect(some.notices).toEqual(["Events sent again: 20,000. There may be more."]);
    expect(await countsOf(started)).toEqual({ pending: 20_000, failed: 2 });
    // Events after the first press are outside the time range.
    world.clock.now += 60;
    await world.chatId();
    await env.DB.prepare(`UPDATE deliveries SET ${FAILED} WHERE webhook_id = ? AND seq = 20003`).bind(webhook.id).run();
    const other = await ConsoleVisitor.signedIn(world);
    const draft = await other.press(some, "Go on with the rest");
    expect(draft.notices).toEqual(["Not sent yet: look the form over and send it."]);
    expect(draft.text).toContain("2 events match: send them again?");
    expect(draft.text).toContain("15 Jan 2027, 08:00 · after event 20000");
    expect([draft.value("To"), draft.value("Missed")]).toEqual(["2027-01-15T08:00:00", "on"]);
    const newPreview = await other.press(draft, "Count");
    expect(newPreview.text).toContain("2 events match: send them again?");
    expect(await countsOf(started)).toEqual({ pending: 20_000, failed: 3 });
    for (const page of [some, some]) {
      expect((await visitor.press(page, "Go on with the rest")).notices).toEqual([SENT(2)]);
    }
    expect(await countsOf(started)).toEqual({ pending: 20_002, failed: 1 });
    expect((await auditOf(started)).map(({ queued, until }) => [queued, until])).toEqual(
      [5_000, 5_000, 5_000, 5_000, 2].map((queued) => [queued, NOW]),
    );
    // The draft sends what is left too, from the same place.
    expect((await other.press(draft, "Send 2 events again")).notices).toEqual([SENT(2)]);
  });

  it("the page that sends events again shows what is on its way when the database fails after the first step, and goes on", async () => {
    const started = await start("apac");
    const { visitor, form, world, webhook } = started;
    await fillDeliveries(webhook, 5_003);
    await setDeliveries(webhook, FAILED);
    let sends = 0;
    const batch = (statements: D1PreparedStatement[]) => {
      sends += 1;
      if (sends > 1) throw new Error("D1_ERROR: D1 DB is overloaded.");
      return env.HOME_APAC.batch(statements);
    };
    const page = await visitor.open(form);
    const brokenVisitor = visitor.through(world.anotherIsolate({ HOME_APAC: replacing(env.HOME_APAC, { batch }) }));
    const answer = await brokenVisitor.submit(page, "Send 5,003 events again");
    expect([answer.status, sends]).toEqual([303, 2]);
    const some = await visitor.open(answer.headers.get("location") ?? "");
    expect(some.notices).toEqual(["Events sent again: 5,000. There may be more."]);
    expect(await countsOf(started)).toEqual({ pending: 5_000, failed: 3 });
    expect((await visitor.press(some, "Go on with the rest")).notices).toEqual([SENT(3)]);
    expect(await countsOf(started)).toEqual({ pending: 5_003 });
  });

  it("the page that sends events again has no button when nothing matches, and says so when nothing is left", async () => {
    const started = await start();
    const { visitor, form, webhook, world } = started;
    const none = await visitor.open(form);
    expect([none.text.includes("No event matches."), none.has("Send again")]).toEqual([true, false]);
    await world.chatId();
    await setDeliveries(webhook, FAILED);
    const preview = await visitor.open(form);
    await setDeliveries(webhook, "status = 'delivered'");
    const sentPage = await visitor.press(preview, "Send again");
    expect([sentPage.notices, await auditOf(started)]).toEqual([["No event matched, so none was sent."], []]);
  });

  it("the result of sending again is shown only to its own session, and for two hours", async () => {
    const started = await start();
    const { visitor, form, world } = started;
    await threeEvents(started);
    const day = `${form}?time=day&failed=on&pending=on`;
    const sentPage = await visitor.press(await visitor.open(day), "Send 2 events again");
    expect(sentPage.notices).toEqual([SENT(2)]);
    const other = await ConsoleVisitor.signedIn(world);
    expect((await other.open(sentPage.path)).notices).toEqual([]);
    expect((await visitor.open(sentPage.path.replace("sent=2", "sent=3"))).notices).toEqual([]);
    world.clock.now += 7_200;
    expect((await visitor.open(sentPage.path)).notices).toEqual([]);
  });

  it("sending events again is refused for a webhook that was disabled since, and the page says so", async () => {
    const started = await start();
    const { visitor, path, form, webhook } = started;
    await threeEvents(started);
    const page = await visitor.open(form);
    await setWebhook(webhook, "status = 'disabled', disabled_reason = 'gone'");
    const before = await deliveriesOf(webhook);
    for (const button of ["Count", "Send again"]) {
      const resultPage = await visitor.press(page, button);
      expect([resultPage.path, resultPage.notices]).toEqual([
        path,
        ["Disabled by the Worker: the receiver answered 410."],
      ]);
    }
    expect(await deliveriesOf(webhook)).toEqual(before);
  });
});

describe("the button that sends all failed again", () => {
  it('the button "Send all failed again" is on every page of the deliveries with its count, and sends the failed ones', async () => {
    const started = await start();
    const { visitor, path } = started;
    await threeEvents(started);
    for (const query of ["", "?status=delivered", "?before=1", "?status=skipped"]) {
      expect([query, (await visitor.open(path + query)).has("Send all failed again (1)")]).toEqual([query, true]);
    }
    const sentPage = await visitor.press(await visitor.open(`${path}?status=delivered`), "Send all failed again (1)");
    expect(sentPage.notices).toEqual([SENT(1)]);
    expect(await deliveriesOf(started.webhook)).toMatchObject([
      { status: "pending", attempts: 0 },
      { status: "pending", attempts: 3 },
      { status: "delivered" },
    ]);
    expect(sentPage.html).not.toContain("Send all failed again");
    expect(await auditOf(started)).toMatchObject([{ status: ["failed"], queued: 1 }]);
  });

  it('the button "Send all failed again" sends nothing for another session, which sees the form for review', async () => {
    const started = await start();
    const { world, visitor, path } = started;
    await threeEvents(started);
    const page = await visitor.open(path);
    const before = await deliveriesOf(started.webhook);
    const other = await ConsoleVisitor.signedIn(world);
    const draft = await other.press(page, "Send all failed again (1)");
    expect(draft.notices).toEqual(["Not sent yet: look the form over and send it."]);
    expect([draft.value("Failed"), draft.value("Pending")]).toEqual(["on", ""]);
    expect(await deliveriesOf(started.webhook)).toEqual(before);
  });
});
