import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
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
  return { world, visitor, webhook, path: `/console/sites/${world.siteId}/webhooks/${webhook.id}` };
}

type Started = Awaited<ReturnType<typeof start>>;

/** The statuses of the deliveries, the oldest first. */
const statusesOf = async ({ webhook }: Started) => (await deliveriesOf(webhook)).map(({ status }) => status);

const countsOf = async ({ webhook }: Started) => {
  const { results } = await databaseOf(webhook.home)
    .prepare("SELECT status, count(*) AS n FROM deliveries WHERE webhook_id = ? GROUP BY status ORDER BY status")
    .bind(webhook.id)
    .all<{ status: string; n: number }>();
  return Object.fromEntries(results.map(({ status, n }) => [status, n]));
};

/** The details of the rows that sending again has left, the oldest first. */
const auditOf = async ({ world }: Started) => {
  const { results } = await env.DB.prepare(
    "SELECT actor, details FROM audit_log WHERE site_id = ? AND action = 'webhook.redelivered' ORDER BY id",
  )
    .bind(world.siteId)
    .all<{ actor: string; details: string }>();
  return results.map(({ actor, details }): Record<string, unknown> => ({ actor, ...JSON.parse(details) }));
};

/** Three sessions, an hour apart from 08:00, whose events have failed, are pending and were delivered. */
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

describe("sending events again", () => {
  it("counts first, keeps the form as it was filled in, and sends nothing by that", async () => {
    const started = await start();
    const { visitor, path } = started;
    await threeEvents(started);
    const before = await deliveriesOf(started.webhook);
    const form = await visitor.open(path);
    const ticked = ["Failed", "Pending", "Missed", "Delivered"];
    expect(ticked.map((label) => form.value(label))).toEqual(["on", "on", "", ""]);
    const fill = { From: "2027-01-15T08:00", To: "2027-01-15T10:00", Pending: "", Delivered: "on" };
    for (const _ of [1, 2]) {
      const counted = await visitor.press(form, "Count first", fill);
      expect([counted.status, counted.notices]).toEqual([200, ["Events that match: 2. Nothing was sent yet."]]);
      expect([counted.value("From"), counted.value("To")]).toEqual([fill.From, fill.To]);
      expect(ticked.map((label) => counted.value(label))).toEqual(["on", "", "", "on"]);
      expect(counted.html).toMatch(/<details class="fold" open[^>]*><summary class="button">Send events again/);
    }
    expect([await deliveriesOf(started.webhook), await auditOf(started)]).toEqual([before, []]);
  });

  it("sends after the count what the form says, once, and leaves one row in the audit log", async () => {
    const started = await start();
    const { visitor, path, world } = started;
    await threeEvents(started);
    const counted = await visitor.press(await visitor.open(path), "Count first", { From: "2027-01-15T09:00" });
    expect(counted.notices).toEqual(["Events that match: 1. Nothing was sent yet."]);
    for (const _ of [1, 2]) {
      const sent = await visitor.press(counted, "Send again");
      expect([sent.path.split("?")[0], sent.notices]).toEqual([path, [SENT(1)]]);
    }
    expect(await deliveriesOf(started.webhook)).toMatchObject([
      { status: "failed", attempts: 8 },
      { status: "pending", attempts: 0, next_attempt_at: world.clock.now },
      { status: "delivered", attempts: 1 },
    ]);
    const until = world.clock.now;
    expect(await auditOf(started)).toMatchObject([
      { actor: "console", status: ["failed", "pending"], since: NOW + 3_600, until, queued: 1 },
    ]);
    const log = await visitor.open(`/console/sites/${world.siteId}/audit`);
    expect(log.rows[0]?.slice(0, 3)).toEqual([
      "Events sent again",
      started.webhook.id,
      "status Failed, Pending · from 15 Jan 2027, 09:00 · up to 15 Jan 2027, 10:00 · queued 1",
    ]);
  });

  it("takes times in the reader's zone, the whole minute of the end too", async () => {
    const started = await start();
    const { visitor, path, world } = started;
    await threeEvents(started);
    await env.DB.prepare("UPDATE events SET created_at = created_at + 59 WHERE site_id = ?").bind(world.siteId).run();
    visitor.cookies.set("__Host-zone", "Asia/Shanghai");
    const form = await visitor.open(path);
    expect(form.text).toContain("When the event happened, in Asia/Shanghai.");
    const all = { Delivered: "on" };
    const matches = async (from: string, to: string) => {
      const { notices } = await visitor.press(form, "Count first", { ...all, From: from, To: to });
      return /\d+/.exec(notices.join())?.[0];
    };
    expect(await matches("2027-01-15T16:00", "2027-01-15T17:00")).toBe("2");
    expect(await matches("2027-01-15T16:00:59", "2027-01-15T17:00:58")).toBe("1");
    expect(await matches("2027-01-15T08:00", "2027-01-15T15:59")).toBe("0");
  });

  it("sends missed events, those of a disabled time, with a time to begin with", async () => {
    const started = await start();
    const { visitor, path, world, webhook } = started;
    await setWebhook(webhook, "status = 'disabled'");
    await world.chatId();
    await setWebhook(webhook, "status = 'enabled'");
    expect(await statusesOf(started)).toEqual([]);
    const form = await visitor.open(path);
    const fill = { Failed: "", Pending: "", Missed: "on" };
    for (const button of ["Count first", "Send again"]) {
      const refused = await visitor.press(form, button, fill);
      expect([refused.status, refused.notices, refused.link("From")]).toEqual([
        400,
        ["Nothing was changed."],
        "#since",
      ]);
      expect(refused.html).toContain('<p class="error" id="since-error">Missed events need a time to begin with.</p>');
      expect([refused.value("Failed"), refused.value("Missed")]).toEqual(["", "on"]);
    }
    expect(await statusesOf(started)).toEqual([]);
    const sent = await visitor.press(form, "Send again", { ...fill, From: "2027-01-15T00:00" });
    expect([sent.notices, await statusesOf(started)]).toEqual([[SENT(1)], ["pending"]]);
  });

  it.each([
    [{ Failed: "", Pending: "" }, "Which events", "statuses", "Tick at least one of them."],
    [{ From: "2027-01-15T10:00", To: "2027-01-15T09:00" }, "From", "since", "Must not be after “To”."],
    [{ From: "2027-02-30T10:00" }, "From", "since", "Must be a date and a time"],
    [{ To: "yesterday" }, "To", "until", "Must be a date and a time"],
  ] as const)("is refused at the field, and the form keeps what was entered: %j", async (fill, label, field, rule) => {
    const started = await start();
    const { visitor, path } = started;
    await threeEvents(started);
    const before = await deliveriesOf(started.webhook);
    const form = await visitor.open(path);
    for (const button of ["Count first", "Send again"]) {
      const refused = await visitor.press(form, button, fill);
      expect([refused.status, refused.notices, refused.link(label)]).toEqual([
        400,
        ["Nothing was changed."],
        `#${field}`,
      ]);
      expect(refused.html).toContain(`<p class="error" id="${field}-error">${rule}</p>`);
      for (const [name, value] of Object.entries(fill)) expect([name, refused.value(name)]).toEqual([name, value]);
      const chinese = await visitor.press(refused, "中文");
      for (const [name, value] of Object.entries({ since: "", until: "", ...named(fill) }))
        expect([name, fieldOf(chinese.html, name)]).toEqual([name, value]);
      await visitor.press(chinese, "English");
    }
    expect([await deliveriesOf(started.webhook), await auditOf(started)]).toEqual([before, []]);
  });

  it("goes on with the rest, in the same time, until nothing is left", { timeout: 60_000 }, async () => {
    const started = await start();
    const { visitor, path, world, webhook } = started;
    await fillDeliveries(webhook, 20_002);
    await setDeliveries(webhook, FAILED);
    const form = await visitor.open(path);
    const counted = await visitor.press(form, "Count first");
    expect(counted.notices).toEqual(["Events that match: 20,000 or more. Nothing was sent yet."]);
    const some = await visitor.press(form, "Send again");
    expect(some.notices).toEqual(["Events sent again: 20,000. There may be more."]);
    expect(await countsOf(started)).toEqual({ pending: 20_000, failed: 2 });
    // What happens after the first press is not of the time that was asked for.
    world.clock.now += 60;
    await world.chatId();
    await env.DB.prepare(`UPDATE deliveries SET ${FAILED} WHERE webhook_id = ? AND seq = 20003`).bind(webhook.id).run();
    const other = await ConsoleVisitor.signedIn(world);
    const draft = await other.press(some, "Go on with the rest");
    expect(draft.notices).toEqual(["Nothing was changed yet: look the form over and send it."]);
    expect([draft.text.includes("Goes on after event 20000."), draft.value("To"), draft.value("Missed")]).toEqual([
      true,
      "2027-01-15T08:00:00",
      "",
    ]);
    expect(await countsOf(started)).toEqual({ pending: 20_000, failed: 3 });
    for (const page of [some, some]) {
      expect((await visitor.press(page, "Go on with the rest")).notices).toEqual([SENT(2)]);
    }
    expect(await countsOf(started)).toEqual({ pending: 20_002, failed: 1 });
    expect((await auditOf(started)).map(({ queued, until }) => [queued, until])).toEqual(
      [5_000, 5_000, 5_000, 5_000, 2].map((queued) => [queued, NOW]),
    );
    // What is left in the list behind the notice is sent by the draft too, from the same place.
    expect((await other.press(draft, "Send again")).notices).toEqual([SENT(2)]);
  });

  it("tells what is on its way when the database fails after the first step, and goes on", {
    timeout: 30_000,
  }, async () => {
    const started = await start("apac");
    const { visitor, path, world, webhook } = started;
    await fillDeliveries(webhook, 5_003);
    await setDeliveries(webhook, FAILED);
    let sends = 0;
    const batch = (statements: D1PreparedStatement[]) => {
      sends += 1;
      if (sends > 1) throw new Error("D1_ERROR: D1 DB is overloaded.");
      return env.HOME_APAC.batch(statements);
    };
    const form = await visitor.open(path);
    const apart = visitor.through(world.anotherIsolate({ HOME_APAC: replacing(env.HOME_APAC, { batch }) }));
    const answer = await apart.submit(form, "Send again");
    expect([answer.status, sends]).toEqual([303, 2]);
    const some = await visitor.open(answer.headers.get("location") ?? "");
    expect(some.notices).toEqual(["Events sent again: 5,000. There may be more."]);
    expect(await countsOf(started)).toEqual({ pending: 5_000, failed: 3 });
    expect((await visitor.press(some, "Go on with the rest")).notices).toEqual([SENT(3)]);
    expect(await countsOf(started)).toEqual({ pending: 5_003 });
  });

  it("says that nothing matched", async () => {
    const started = await start();
    const { visitor, path } = started;
    const sent = await visitor.press(await visitor.open(path), "Send again");
    expect([sent.notices, await auditOf(started)]).toEqual([["No event matched, so none was sent."], []]);
  });

  it("tells its result to its own session only, and for two hours", async () => {
    const started = await start();
    const { visitor, path, world } = started;
    await threeEvents(started);
    const sent = await visitor.press(await visitor.open(path), "Send again");
    expect(sent.notices).toEqual([SENT(2)]);
    const other = await ConsoleVisitor.signedIn(world);
    expect((await other.open(sent.path)).notices).toEqual([]);
    expect((await visitor.open(sent.path.replace("sent=2", "sent=3"))).notices).toEqual([]);
    world.clock.now += 7_200;
    expect((await visitor.open(sent.path)).notices).toEqual([]);
  });

  it("is refused by the page of a webhook that was disabled since, which says so", async () => {
    const started = await start();
    const { visitor, path, webhook } = started;
    await threeEvents(started);
    const form = await visitor.open(path);
    await setWebhook(webhook, "status = 'disabled', disabled_reason = 'gone'");
    const before = await deliveriesOf(webhook);
    for (const button of ["Count first", "Send again"]) {
      const page = await visitor.press(form, button);
      expect([page.path, page.notices]).toEqual([path, ["Disabled by the Worker: the receiver answered 410."]]);
    }
    expect(await deliveriesOf(webhook)).toEqual(before);
  });

  it("leads back to the webhook when the address of a refused form is opened", async () => {
    const { visitor, path } = await start();
    const refused = await visitor.press(await visitor.open(path), "Send again", { Failed: "", Pending: "" });
    expect((await visitor.open(refused.path)).path).toBe(path);
  });
});

describe("the button that redelivers all failed", () => {
  it("stands on every page and filter of the deliveries with the count, and sends those that failed", async () => {
    const started = await start();
    const { visitor, path } = started;
    await threeEvents(started);
    for (const query of ["", "?status=delivered", "?cursor=1", "?status=skipped"]) {
      expect([query, (await visitor.open(path + query)).has("Redeliver all failed (1)")]).toEqual([query, true]);
    }
    const sent = await visitor.press(await visitor.open(`${path}?status=delivered`), "Redeliver all failed (1)");
    expect(sent.notices).toEqual([SENT(1)]);
    expect(await deliveriesOf(started.webhook)).toMatchObject([
      { status: "pending", attempts: 0 },
      { status: "pending", attempts: 3 },
      { status: "delivered" },
    ]);
    expect(sent.html).not.toContain("Redeliver all failed");
    expect(await auditOf(started)).toMatchObject([{ status: ["failed"], queued: 1 }]);
  });

  it("sends nothing for another session, whose form is shown for review, nor for another website", async () => {
    const started = await start();
    const { world, visitor, path } = started;
    await threeEvents(started);
    const page = await visitor.open(path);
    const before = await deliveriesOf(started.webhook);
    const other = await ConsoleVisitor.signedIn(world);
    const draft = await other.press(page, "Redeliver all failed (1)");
    expect(draft.notices).toEqual(["Nothing was changed yet: look the form over and send it."]);
    expect([draft.value("Failed"), draft.value("Pending")]).toEqual(["on", ""]);
    const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    expect((await other.submit(page, "Redeliver all failed (1)", {}, foreign)).status).toBe(403);
    expect(await deliveriesOf(started.webhook)).toEqual(before);
  });
});

/** Values by the names of the fields. */
const named = (fill: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(fill).flatMap(([label, value]) =>
      label === "From" ? [["since", value]] : label === "To" ? [["until", value]] : [],
    ),
  );

/** The value of a field by its name. */
const fieldOf = (html: string, name: string) =>
  new RegExp(`<input type="datetime-local" value="([^"]*)"[^>]* id="${name}"`).exec(html)?.[1];
