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
    const started = await start();
    const { visitor, webhook, path } = started;
    const page = await visitor.open(path);
    expect(page.text).toContain("No deliveries here.");
    expect(page.text).toContain("A ping goes before everything that is pending, also to a receiver that hangs");
    for (const _ of [1, 2]) {
      const sent = await visitor.press(page, "Send a ping");
      expect(sent.notices).toEqual(["It is on its way: the deliveries below tell what comes of it."]);
      expect(sent.rows).toEqual([
        ["1 ping 15 Jan 2027, 08:00", "Pending", "0", "–", "15 Jan 2027, 08:00", "Redeliver 1"],
      ]);
    }
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    expect(worker.posted).toHaveLength(1);
    await setAll(started, "duration_ms = 230");
    expect((await visitor.open(path)).rows).toEqual([
      ["1 ping 15 Jan 2027, 08:00", "Delivered", "1 15 Jan 2027, 08:00 230 ms", "HTTP 200", "–", "Redeliver 1"],
    ]);
  });

  it("is not sent to a webhook that was disabled since the page was shown, and the page says so", async () => {
    const { visitor, webhook, path } = await start();
    const page = await visitor.open(path);
    await setWebhook(webhook, "status = 'disabled', disabled_reason = 'gone'");
    const late = await visitor.press(page, "Send a ping");
    expect(late.notices).toEqual(["Disabled by the Worker: the receiver answered 410."]);
    expect(await deliveriesOf(webhook)).toEqual([]);
  });
});

describe("the deliveries of a webhook", () => {
  it("are listed newest first with their attempts, their error and their session", async () => {
    const started = await start();
    const { world, visitor, webhook, site, path } = started;
    const chatId = await world.chatId();
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response("<b>no</b>", { status: 503 });
    worker.clock.now += 3_600;
    await worker.deliver(webhook);
    await setAll(started, "duration_ms = 12345", "seq = 1");
    await world.chatId();
    const page = await visitor.open(path);
    expect(page.rows).toEqual([
      ["2 session.created Session 2 15 Jan 2027, 08:00", "Pending", "0", "–", "15 Jan 2027, 08:00", "Redeliver 2"],
      [
        "1 session.created Session 1 15 Jan 2027, 08:00",
        "Pending",
        "1 15 Jan 2027, 09:00 12.3 s",
        "HTTP 503: <b>no</b>",
        "15 Jan 2027, 09:00",
        "Redeliver 1",
      ],
    ]);
    expect(page.html).toContain("HTTP 503: &lt;b&gt;no&lt;/b&gt;");
    expect(page.html).not.toContain("<b>no");
    expect(page.link(`Session ${chatId}`)).toBe(`${site}/sessions/${chatId}`);
    expect((await visitor.open(page.link(`Session ${chatId}`))).status).toBe(200);
    expect(page.text).toContain("Failing since 15 Jan 2027, 09:00");
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
    [
      "last_status = 530, last_error = 'HTTP 530, error 1016: the host name does not resolve'",
      "HTTP 530, error 1016: the host name does not resolve",
      "HTTP 530，错误 1016：主机名无法解析",
    ],
    [
      "last_status = 521, last_error = 'HTTP 521: the host refuses connections: No connection 7'",
      "HTTP 521: the host refuses connections: No connection 7",
      "HTTP 521：主机拒绝连接: No connection 7",
    ],
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
    expect(sent.rows.map(([event]) => event)).toEqual(["2 session.created Session 2 15 Jan 2027, 08:00"]);
    expect(await deliveriesOf(webhook)).toMatchObject([
      { seq: 1, status: "pending", attempts: 0 },
      { seq: 2, status: "failed", attempts: 8 },
    ]);
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

  it("are listed as skipped when their event is gone, without a type and a link to a session", async () => {
    const started = await start();
    const { world, visitor, path } = started;
    await world.chatId();
    await setAll(started, "status = 'skipped', next_attempt_at = NULL");
    await env.DB.prepare("DELETE FROM events WHERE site_id = ?").bind(world.siteId).run();
    for (const query of ["", "?status=skipped"]) {
      const page = await visitor.open(path + query);
      expect(page.rows).toEqual([["1 (not kept any more) 15 Jan 2027, 08:00", "Skipped", "0", "–", "–", "–"]]);
      expect(() => page.link("Session 1")).toThrow("no link");
    }
  });

  it("are not redelivered by a form of another session, nor of another site", async () => {
    const started = await start();
    const { world, visitor, webhook, path } = started;
    await world.chatId();
    await setAll(started, FAILED);
    const page = await visitor.open(path);
    const other = await ConsoleVisitor.signedIn(world);
    for (const button of ["Redeliver 1", "Send a ping"]) {
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
      "origin https://hooks.example.com · reason gone · Enabled → Disabled",
      "Worker",
    ]);
  });
});
