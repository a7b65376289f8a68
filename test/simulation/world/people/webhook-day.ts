import type { World } from "../world.ts";
import type { KnownSite } from "./company.ts";
import { pause } from "./day.ts";
import { Operator } from "./operator.ts";
import { WebhookKeeper } from "./operator-webhooks.ts";

/** The most webhooks of one site: docs/operating.md, "Events". */
const MOST_WEBHOOKS = 10;

/** An operator's acts on events, by their weights. */
export const WEBHOOK_ACTS = {
  addWebhook: 3,
  addMalformedWebhook: 1,
  changeWebhook: 2,
  disableWebhook: 1,
  enableWebhook: 2,
  rotateWebhook: 3,
  endWebhookOverlap: 2,
  ping: 3,
  pingInSilence: 1,
  deleteWebhook: 1,
  redeliver: 3,
  sendAgain: 4,
  restartWebhook: 1,
  pingHanging: 1,
  reviveWebhooks: 2,
  tidyWebhooks: 2,
  eventsOff: 1,
  eventsOn: 2,
  twoAtOnceOfWebhook: 1,
  contraryToWebhook: 1,
  addAndDelete: 1,
  addTooMany: 0.5,
};

export type WebhookAct = keyof typeof WEBHOOK_ACTS;

export const isWebhookAct = (act: string): act is WebhookAct => Object.hasOwn(WEBHOOK_ACTS, act);

/** A company that wants events turns them on from the start. */
export async function wantEvents(operator: Operator, site: KnownSite): Promise<void> {
  const { chance, world } = operator;
  if (!chance.happens(world.weather.events)) return;
  for (let i = chance.integer(1, 2); i > 0; i--) await new WebhookKeeper(operator).add(site);
}

export async function actOnWebhooks(operator: Operator, site: KnownSite, act: WebhookAct): Promise<void> {
  const { chance, world } = operator;
  const keeper = new WebhookKeeper(operator);
  world.count(`operator: ${act}`);
  if (act === "addWebhook") return void (await keeper.add(site));
  if (act === "addMalformedWebhook") return keeper.addMalformed(site);
  if (act === "tidyWebhooks") return keeper.tidy(site);
  if (act === "addTooMany") {
    const added = [];
    for (let i = 0; i <= MOST_WEBHOOKS; i++) added.push(await keeper.add(site));
    for (const webhook of added) if (webhook !== undefined) await keeper.delete(webhook);
    return;
  }
  if (act === "reviveWebhooks") return keeper.revive(site);
  if (act === "eventsOn") return operator.setSite(site, { events: true });
  if (act === "eventsOff") {
    await operator.setSite(site, { events: false });
    await world.sleep(chance.between(100, 30_000));
    // One more webhook must not turn the site's events on again.
    if (chance.happens(0.4)) await keeper.add(site);
    return operator.setSite(site, { events: true });
  }
  if (site.webhooks.length === 0) return;
  const webhook = chance.one(site.webhooks);
  const overlap = chance.one([0, 1, 30, 600, 86_400, 604_800]);
  switch (act) {
    case "changeWebhook":
      return keeper.change(webhook);
    case "disableWebhook":
      await keeper.setStatus(webhook, "disabled");
      // The URL and the types of a disabled webhook change, and it must stay disabled.
      if (chance.happens(0.5)) await keeper.change(webhook);
      await world.sleep(chance.between(100, 60_000));
      return keeper.setStatus(webhook, "enabled");
    case "enableWebhook":
      // The Worker may have disabled it, because its receiver answered 410.
      if (chance.happens(0.5)) await keeper.change(webhook);
      return keeper.setStatus(webhook, "enabled");
    case "rotateWebhook":
      return keeper.rotate(webhook, overlap);
    case "endWebhookOverlap": {
      const { version } = webhook;
      if (chance.happens(0.7)) await keeper.rotate(webhook, chance.one([30, 600, 86_400]));
      // Now and then by somebody who has not heard of the rotation.
      return keeper.endOverlap(webhook, chance.happens(0.3) ? version : webhook.version);
    }
    case "ping":
      return keeper.ping(webhook);
    case "pingInSilence":
      await operator.setSite(site, { events: false });
      await keeper.ping(webhook);
      return operator.setSite(site, { events: true });
    case "deleteWebhook":
      return keeper.delete(webhook);
    case "redeliver":
      return keeper.redeliver(webhook);
    case "sendAgain":
      return keeper.sendAgain(webhook);
    case "restartWebhook":
      return keeper.restart(webhook);
    case "pingHanging":
      return keeper.pingHanging(webhook);
    case "twoAtOnceOfWebhook": {
      const another = chance.one([
        () => keeper.ping(webhook),
        () => keeper.change(webhook),
        () => keeper.delete(webhook),
        () => keeper.setStatus(webhook, "disabled"),
        () => keeper.redeliver(webhook),
        () => keeper.rotate(webhook, overlap),
        () => keeper.endOverlap(webhook),
        () => keeper.sendAgain(webhook),
      ]);
      await Promise.all([keeper.rotate(webhook, overlap), another()]);
      return;
    }
    case "contraryToWebhook": {
      const later = async () => {
        await world.sleep(chance.between(0, 8_000));
        await keeper.setStatus(webhook, "disabled");
      };
      await Promise.all([keeper.change(webhook), later()]);
      return keeper.setStatus(webhook, "enabled");
    }
    case "addAndDelete": {
      const added = await keeper.add(site);
      if (added !== undefined) await keeper.delete(added);
    }
  }
}

/** Changes webhooks often and does nothing else, so deliveries in flight meet every act. */
export async function keepWebhooks(world: World): Promise<void> {
  const operator = new Operator(world, "operator");
  const { chance } = operator;
  while (!world.closing) {
    await pause(world, chance, chance.between(300, 6_000));
    const sites = world.company.sitesAtWork.filter(({ webhooks }) => webhooks.length > 0);
    if (sites.length > 0 && !world.closing) {
      await actOnWebhooks(operator, chance.one(sites), chance.weighted(WEBHOOK_ACTS));
    }
  }
}
