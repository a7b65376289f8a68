import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { DeliveringWorker, deliveriesOf, setWebhook } from "../../../support/deliveries.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { World } from "../../../support/world.ts";

async function start() {
  const world = await World.create({ EVENTS: undefined });
  const visitor = await ConsoleVisitor.signedIn(world);
  const webhook = await newWebhook(world);
  const site = `/console/sites/${world.siteId}`;
  return { world, visitor, webhook, site, path: `${site}/webhooks/${webhook.id}` };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Changes all deliveries of the webhook. */
const setAll = ({ webhook }: Started, assignments: string, where = "true") =>
  env.DB.prepare(`UPDATE deliveries SET ${assignments} WHERE webhook_id = ? AND ${where}`).bind(webhook.id).run();

const FAILED = "status = 'failed', attempts = 8, next_attempt_at = NULL";

describe("a ping", () => {
  it("is sent once by a button, and the list shows its result", async () => {
    const { visitor, webhook, path } = await start();
    const page = await visitor.open(path);
    expect(page.text).toContain("No deliveries here.");
    for (const _ of [1, 2]) {
      const sent = await visitor.press(page, "Send a ping");
      expect(sent.notices).toEqual(["It is on its way: the deliveries below tell what comes of it."]);
      expect(sent.rows).toEqual([["1 ping", "Pending", "0", "–", "15 Jan 2027, 08:00", "Redeliver 1"]]);
    }
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    expect(worker.posted).toHaveLength(1);
    expect((await visitor.open(path)).rows).toEqual([["1 ping", "Delivered", "1", "HTTP 200", "–", "Redeliver 1"]]);
  });

  it("is not sent to a webhook that was disabled since the page was shown, and the page says so", async () => {
    const { visitor, webhook, path } = await start();
    const page = await visitor.open(path);
    await setWebhook(webhook, "status = 'disabled', disabled_reason = 'gone'");
    const late = await visitor.press(page, "Send a ping");
    expect(late.notices).toEqual(["Disabled: the receiver answered 410."]);
    expect(await deliveriesOf(webhook)).toEqual([]);
  });
});

describe("the deliveries of a webhook", () => {
  it("are listed newest first with their attempts, their error and their session", async () => {
    const { world, visitor, webhook, site, path } = await start();
    const chatId = await world.chatId();
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response("<b>no</b>", { status: 503 });
    await worker.deliver(webhook);
    await world.chatId();
    const page = await visitor.open(path);
    expect(page.rows).toEqual([
      ["2 session.created Session 2", "Pending", "0", "–", "15 Jan 2027, 08:00", "Redeliver 2"],
      ["1 session.created Session 1", "Pending", "1", "HTTP 503: <b>no</b>", "15 Jan 2027, 08:00", "Redeliver 1"],
    ]);
    expect(page.html).toContain("HTTP 503: &lt;b&gt;no&lt;/b&gt;");
    expect(page.html).not.toContain("<b>no");
    expect(page.link(`Session ${chatId}`)).toBe(`${site}/sessions/${chatId}`);
    expect((await visitor.open(page.link(`Session ${chatId}`))).status).toBe(200);
    expect(page.text).toContain("Failing since 15 Jan 2027, 08:00");
  });

  it.each([
    ["last_error = 'no answer in 15 s'", "No answer in 15 s", "15 秒内无应答"],
    ["last_error = 'no connection'", "No connection", "无法连接"],
    [
      "last_status = 302, last_error = 'redirects are not followed'",
      "HTTP 302 · Redirects are not followed",
      "HTTP 302 · 不跟随重定向",
    ],
    ["last_error = 'the URL must use port 443'", "The URL must use port 443", "URL 须使用 443 端口"],
    ["last_status = 500, last_error = 'HTTP 500: {0} no answer'", "HTTP 500: {0} no answer", "HTTP 500: {0} no answer"],
    ["last_status = 204", "HTTP 204", "HTTP 204"],
  ])("say in the reader's language why they failed: %s", async (columns, english, chinese) => {
    const started = await start();
    const { world, visitor, path } = started;
    await world.chatId();
    await setAll(started, columns);
    const page = await visitor.open(path);
    expect(page.rows[0]?.[3]).toBe(english);
    expect((await visitor.press(page, "中文")).rows[0]?.[3]).toBe(chinese);
  });

  it("are filtered by status, page by page", async () => {
    const started = await start();
    const { world, visitor, path } = started;
    for (let count = 0; count < 23; count++) await world.chatId();
    await setAll(started, FAILED, "seq > 2");
    const failed = await visitor.open(`${path}?status=failed`);
    expect([failed.rows.length, failed.value("Status")]).toEqual([20, "failed"]);
    const next = await visitor.open(failed.link("Next page"));
    expect([next.rows.map(([event]) => event?.split(" ")[0]), next.value("Status")]).toEqual([["3"], "failed"]);
    expect((await visitor.press(next, "Find", { Status: "pending" })).rows).toHaveLength(2);
    expect((await visitor.press(next, "Find", { Status: "skipped" })).text).toContain("No deliveries here.");
    expect((await visitor.open(`${path}?status=lost`)).rows).toHaveLength(20);
  });

  it("are redelivered one by one, and the answer leads back to the page of the list with the button", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    await world.chatId();
    await world.chatId();
    await setAll(started, FAILED);
    const page = await visitor.open(`${path}?status=failed`);
    const sent = await visitor.press(page, "Redeliver 1");
    expect(sent.path).toMatch(/\?status=failed&done=.*#event-1$/);
    expect(sent.rows.map(([event]) => event)).toEqual(["2 session.created Session 2"]);
    expect(await deliveriesOf(webhook)).toMatchObject([
      { seq: 1, status: "pending", attempts: 0 },
      { seq: 2, status: "failed", attempts: 8 },
    ]);
  });

  it("are redelivered all at once when they failed", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    for (const _ of [1, 2, 3]) await world.chatId();
    expect((await visitor.open(path)).has("Redeliver all failed")).toBe(false);
    await setAll(started, FAILED, "seq < 3");
    await setAll(started, "status = 'delivered', next_attempt_at = NULL", "seq = 3");
    const sent = await visitor.press(await visitor.open(path), "Redeliver all failed");
    expect(sent.notices).toEqual(["It is on its way: the deliveries below tell what comes of it."]);
    expect((await deliveriesOf(webhook)).map(({ status }) => status)).toEqual(["pending", "pending", "delivered"]);
    expect(sent.has("Redeliver all failed")).toBe(false);
  });

  it("are redelivered by the thousand, and the page says when there are more", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    await world.chatId();
    const seqs = JSON.stringify(Array.from({ length: 1_000 }, (_, index) => index + 2));
    await env.DB.prepare(
      `INSERT INTO events (site_id, seq, id, type, session_id, created_at, data)
        SELECT ?1, value, 'evt_' || value, 'session.created', 1, 0, '{}' FROM json_each(?2)`,
    )
      .bind(world.siteId, seqs)
      .run();
    await env.DB.prepare(
      `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, created_at)
        SELECT ?1, ?2, value, 'failed', 8, 0 FROM json_each(?3)`,
    )
      .bind(world.siteId, webhook.id, seqs)
      .run();
    await setAll(started, FAILED);
    const sent = await visitor.press(await visitor.open(path), "Redeliver all failed");
    expect(sent.notices).toEqual(["The oldest 1,000 are on their way. Press again for the rest."]);
    await visitor.press(sent, "Redeliver all failed");
    expect((await deliveriesOf(webhook)).filter(({ status }) => status === "failed")).toEqual([]);
  });

  it("cannot be redelivered once their event is erased: skipped ones have no button, for others the page says why", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    await world.chatId();
    await setAll(started, FAILED);
    const page = await visitor.open(path);
    await env.DB.prepare("UPDATE events SET data = NULL WHERE site_id = ?").bind(world.siteId).run();
    const late = await visitor.press(page, "Redeliver 1");
    expect(late.notices).toEqual(["Nothing was sent: the event is not kept any more."]);
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "failed" }]);
    await setAll(started, "status = 'skipped'");
    expect((await visitor.open(path)).has("Redeliver 1")).toBe(false);
  });

  it("are not redelivered by a form of another session, nor of another site", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    await world.chatId();
    await setAll(started, FAILED);
    const page = await visitor.open(path);
    const other = await ConsoleVisitor.signedIn(world);
    for (const button of ["Redeliver 1", "Redeliver all failed", "Send a ping"]) {
      expect((await other.press(page, button)).notices).toEqual(["Nothing was changed: press it again."]);
      const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
      expect((await visitor.submit(page, button, {}, foreign)).status).toBe(403);
    }
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "failed" }]);
  });
});

describe("the audit log", () => {
  it("says that the Worker disabled a webhook, without its path", async () => {
    const { world, visitor, webhook, site } = await start();
    await world.chatId();
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response(null, { status: 410 });
    await worker.deliver(webhook);
    const [entry] = (await visitor.open(`${site}/audit`)).rows;
    expect(entry?.slice(0, 4)).toEqual([
      "Webhook disabled",
      webhook.id,
      "origin https://hooks.example.com · reason gone",
      "Worker",
    ]);
  });
});
