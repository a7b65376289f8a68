import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { DeliveringWorker, deliveriesOf, setDeliveries, setWebhook } from "../../../support/deliveries.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { NOW, World } from "../../../support/world.ts";

async function start(row = {}) {
  const world = await World.create({ EVENTS: undefined }, "apac");
  const visitor = await ConsoleVisitor.signedIn(world);
  const webhook = await newWebhook(world, row);
  return { world, visitor, webhook, path: `/console/sites/${world.siteId}/webhooks/${webhook.id}` };
}

describe("the page of a delivery", () => {
  it("the page of a delivery asks again by itself while an attempt is due soon, and has a link that does", async () => {
    const { world, visitor, webhook, path } = await start();
    await world.chatId();
    const waits = async () => {
      const page = await visitor.open(`${path}/deliveries/1`);
      return page.html.includes("data-refresh") && page.link("Look again");
    };
    expect(await waits()).toBe(`${path}/deliveries/1`);
    await setDeliveries(webhook, `attempts = 4, next_attempt_at = ${NOW + 3_600}`);
    expect(await waits()).toBe(false);
    await setDeliveries(webhook, "status = 'delivered', next_attempt_at = NULL");
    expect(await waits()).toBe(false);
  });

  it("the page of a delivery begins with the change of the URL when the webhook fails because of its URL", async () => {
    const { world, visitor, webhook, path } = await start();
    await world.chatId();
    const failAs = (status: number) =>
      setDeliveries(webhook, `status = 'failed', attempts = 8, next_attempt_at = NULL, last_status = ${status}`);
    const buttons = async () => {
      const { html } = await visitor.open(`${path}/deliveries/1`);
      return [...html.matchAll(/(Change URL…|Send again<)/g)].map(([text]) => text);
    };
    await failAs(404);
    expect(await buttons()).toEqual(["Send again<"]);
    await setWebhook(webhook, `failing_since = ${NOW - 60}`);
    expect(await buttons()).toEqual(["Change URL…", "Send again<"]);
    await failAs(500);
    expect(await buttons()).toEqual(["Send again<"]);
    await failAs(410);
    await setWebhook(webhook, "status = 'disabled', disabled_reason = 'gone'");
    expect(await buttons()).toEqual(["Change URL…"]);
  });

  it("the page of a delivery shows what was posted, the last attempt with its answer, and what comes next", async () => {
    const { world, visitor, webhook, path } = await start();
    const chatId = await world.chatId({ content: '<i>Hello</i> & "you"' });
    const worker = new DeliveringWorker();
    worker.receiver = () => new Response("<b>no</b>", { status: 401 });
    await worker.deliver(webhook);
    await setDeliveries(webhook, "duration_ms = 12345");
    const page = await visitor.open((await visitor.open(path)).link("session.created"));
    expect([page.status, page.path, page.heading]).toEqual([200, `${path}/deliveries/1`, "session.created, event 1"]);
    expect(page.text).toContain("Pending The receiver answered 401 It said: <b>no</b> It refuses the event.");
    expect(page.text).toContain(
      `Attempts 1 of at most 8 · 15 Jan 2027, 08:00 · 12.3 s Next attempt next attempt in 5 seconds Session Session ${chatId}`,
    );
    expect(JSON.parse(page.code("payload"))).toEqual(JSON.parse(worker.posted[0]?.body ?? ""));
    const id = worker.posted[0]?.headers.get("webhook-id");
    expect(page.text).toContain(`webhook-id ${id} Copy webhook-id When 15 Jan 2027, 08:00`);
    expect(page.html).not.toContain("<i>Hello");
  });

  it("the address ?event= of a webhook's page leads to the page of that delivery", async () => {
    const { world, visitor, path } = await start();
    await world.chatId();
    expect((await visitor.open(`${path}?event=1`)).path).toBe(`${path}/deliveries/1`);
    for (const odd of ["x", "", "1e3"])
      expect((await visitor.open(`${path}?event=${odd}`)).path).toBe(`${path}?event=${odd}`);
  });

  it("the page of a delivery sends it again, and then says that it is on its way", async () => {
    const { world, visitor, webhook, path } = await start();
    await world.chatId();
    await setDeliveries(
      webhook,
      "status = 'failed', attempts = 8, next_attempt_at = NULL, last_error = 'no connection'",
    );
    const page = await visitor.open(`${path}/deliveries/1`);
    expect(page.text).toContain("Failed No connection to the receiver Nothing answers at this address.");
    const sentPage = await visitor.press(page, "Send again 1");
    expect(sentPage.path).toMatch(/\/deliveries\/1\?again=1\..*#event-1$/);
    expect(sentPage.text).toContain("On its way No answer yet");
    expect(await deliveriesOf(webhook)).toMatchObject([{ status: "pending", attempts: 0 }]);
  });

  it("the page of a missed event says that it was missed, and sends it for the first time", async () => {
    const { world, visitor, webhook, path } = await start({ status: "disabled" });
    await world.chatId();
    const disabledPage = await visitor.open(`${path}/deliveries/1`);
    expect([disabledPage.status, disabledPage.has("Send it 1")]).toEqual([200, false]);
    await setWebhook(webhook, "status = 'enabled'");
    const page = await visitor.open(`${path}/deliveries/1`);
    expect(page.text).toContain("Missed It was never meant for this webhook");
    const sentPage = await visitor.press(page, "Send it 1");
    expect(sentPage.text).toContain("On its way");
    expect(await deliveriesOf(webhook)).toMatchObject([{ seq: 1, status: "pending" }]);
  });

  it("the page of a delivery says that its event was erased or is no longer stored, and has no button then", async () => {
    const { world, visitor, path } = await start();
    await world.chatId();
    await env.HOME_APAC.prepare("UPDATE events SET data = NULL WHERE site_id = ?").bind(world.siteId).run();
    const erasedPage = await visitor.open(`${path}/deliveries/1`);
    expect([erasedPage.text.includes("The event was erased"), erasedPage.has("Send again 1")]).toEqual([true, false]);
    await env.HOME_APAC.prepare("DELETE FROM events WHERE site_id = ?").bind(world.siteId).run();
    const noPage = await visitor.open(`${path}/deliveries/1`);
    expect(noPage.heading).toBe("(not kept any more), event 1");
    expect([noPage.text.includes("The event is not kept any more."), noPage.has("Send again 1")]).toEqual([
      true,
      false,
    ]);
  });

  it("the page of a delivery is 404 for an unknown event, one of another site, or a malformed number", async () => {
    const { world, visitor, path } = await start();
    const other = await World.create({}, "apac");
    await newWebhook(other);
    await other.chatId();
    for (const seq of ["1", "x", "1.5", "99999999999999999"])
      expect([seq, (await visitor.open(`${path}/deliveries/${seq}`)).status]).toEqual([seq, 404]);
    await world.chatId();
    expect((await visitor.open(`${path}/deliveries/1`)).status).toBe(200);
  });
});
