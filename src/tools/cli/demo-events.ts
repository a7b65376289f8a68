import { Webhook } from "standardwebhooks";
import { type EventReceiver, startEventReceiver } from "./demo-receiver.ts";
import type { DemoReport } from "./demo-report.ts";
import type { DemoSite, DemoWorld } from "./demo-world.ts";

/** The headers that Standard Webhooks defines. */
const SIGNED_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/** Follows one event from the signed call to a receiver. The receiver verifies it with another project's code. */
export async function runEvents(world: DemoWorld, report: DemoReport): Promise<void> {
  report.section("An event arrives");
  const site = await world.provision("Listening", [40001, 40002]);
  const receiver = await startEventReceiver();
  try {
    await deliverOne(world, report, { site, receiver });
  } finally {
    receiver.close();
  }
}

async function deliverOne(
  world: DemoWorld,
  report: DemoReport,
  { site, receiver }: { site: DemoSite; receiver: EventReceiver },
): Promise<void> {
  const webhooks = `/admin/sites/${site.id}/webhooks`;
  report.step(`POST ${webhooks} {"url":"${receiver.url}"}`);
  const { secret, ...webhook } = await world.admin<{ id: string; secret: string; status: string; events: string[] }>(
    "POST",
    webhooks,
    { url: receiver.url },
  );
  report.fields({ id: webhook.id, events: webhook.events, status: webhook.status, secret });
  report.check("enabled", webhook.status, "enabled");
  report.check("wants the event of a new session", webhook.events.includes("session.created"), true);

  const opening = { sbs: "customer_001", ip: "203.0.113.7", sbs_mc: "Wang Wei", content: "Is anybody there?" };
  const call = await world.signed(site, "create_gd", { ...opening, kefu_id: [40001, 40002], fzr_uid: 40001 });
  const chatId = await world.expectCreated("a session of that site", site, call);

  const { path, headers, body } = await receiver.next();
  report.step("What arrived at the receiver");
  report.request(path, body, Object.fromEntries(SIGNED_HEADERS.map((name) => [name, String(headers[name])])));
  const isAccepted = (text: string) => {
    try {
      new Webhook(secret).verify(text, headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };
  report.check("the public package standardwebhooks accepts its signature", isAccepted(body), true);
  report.check("and refuses it with one letter changed", isAccepted(body.replace("Wang Wei", "Wang Wai")), false);
  const session = await world.admin<object>("GET", `/admin/sites/${site.id}/sessions/${chatId}`);
  const { type, data } = JSON.parse(body);
  const expected = { type: "session.created", data: { seq: 1, appid: site.app.appid, ...session } };
  report.check("its data is the session as the admin API answers it, with seq and appid", { type, data }, expected);
  const events = `/admin/sites/${site.id}/events?after=0`;
  report.step(`GET ${events}`);
  const { items } = await world.admin<{ items: { id: string; seq: number; type: string }[] }>("GET", events);
  report.fields(Object.fromEntries(items.map(({ seq, id, type: each }) => [`${seq} ${each}`, id])));
  report.check(
    "the same event can be pulled",
    items.map(({ id }) => id),
    [headers["webhook-id"]],
  );
}
