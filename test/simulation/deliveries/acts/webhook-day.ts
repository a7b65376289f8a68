import { Operator } from "../../operators/acts/operator.ts";
import type { KnownSite, KnownWebhook } from "../../world/company.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { sendOneAgain } from "./attempt-of.ts";
import { WebhookKeeper } from "./operator-webhooks.ts";

/** An operator's acts on events, with their weights. */
export const WEBHOOK_ACTS = {
  addWebhook: 3,
  reviveWebhooks: 2,
  tidyWebhooks: 2,
  changeWebhook: 2,
  disableWebhook: 1,
  rotateWebhook: 3,
  endWebhookOverlap: 2,
  ping: 3,
  deleteWebhook: 1,
  redeliver: 3,
  sendAgain: 4,
  pingHanging: 1,
};

export type WebhookAct = keyof typeof WEBHOOK_ACTS;

export const isWebhookAct = (act: string): act is WebhookAct => Object.hasOwn(WEBHOOK_ACTS, act);

/** Turns a site's events on at the start of the run. */
export async function wantEvents(operator: Operator, site: KnownSite): Promise<void> {
  const { chance, world } = operator;
  if (!chance.happens(world.weather.events)) return;
  for (let i = chance.integer(1, 2); i > 0; i--) await new WebhookKeeper(operator).add(site);
}

export async function actOnWebhooks(operator: Operator, site: KnownSite, act: WebhookAct): Promise<void> {
  const keeper = new WebhookKeeper(operator);
  operator.world.count(`operator: ${act}`);
  if (act === "addWebhook") await keeper.add(site);
  else if (act === "tidyWebhooks") await keeper.tidy(site);
  else if (act === "reviveWebhooks") await keeper.revive(site);
  else if (site.webhooks.length > 0) await ACTS_ON_ONE[act](keeper, operator.chance.one(site.webhooks), operator);
}

const ACTS_ON_ONE: Record<
  Exclude<WebhookAct, "addWebhook" | "tidyWebhooks" | "reviveWebhooks">,
  (keeper: WebhookKeeper, webhook: KnownWebhook, operator: Operator) => Promise<void>
> = {
  changeWebhook: (keeper, webhook) => keeper.change(webhook),
  disableWebhook: async (keeper, webhook, { chance, world }) => {
    await keeper.setStatus(webhook, "disabled");
    await world.sleep(chance.happens(0.5) ? 0 : chance.between(100, 60_000));
    await keeper.setStatus(webhook, "enabled");
  },
  rotateWebhook: (keeper, webhook, { chance }) => keeper.rotate(webhook, chance.one([0, 1, 30, 600, 604_800])),
  endWebhookOverlap: async (keeper, webhook, { chance }) => {
    await keeper.rotate(webhook, chance.one([30, 86_400]));
    await keeper.endOverlap(webhook);
  },
  ping: (keeper, webhook) => keeper.ping(webhook),
  deleteWebhook: (keeper, webhook) => keeper.delete(webhook),
  redeliver: (_, webhook, operator) => sendOneAgain(operator, webhook),
  sendAgain: (keeper, webhook) => keeper.sendAgain(webhook),
  pingHanging: (keeper, webhook) => keeper.pingHanging(webhook),
};

/** Changes webhooks often, so that deliveries in flight meet each act. */
export async function keepWebhooks(world: World): Promise<void> {
  const operator = new Operator(world);
  const { chance } = operator;
  while (!world.closing) {
    await pause(world, chance, chance.between(300, 6_000));
    const sites = world.company.sitesAtWork.filter(({ webhooks }) => webhooks.length > 0);
    if (sites.length > 0 && !world.closing) {
      await actOnWebhooks(operator, chance.one(sites), chance.weighted(WEBHOOK_ACTS));
    }
  }
}
