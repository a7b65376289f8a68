import { WebhookKeeper } from "../deliveries/acts/operator-webhooks.ts";
import { Operator } from "../operators/acts/operator.ts";
import type { KnownSite } from "./company.ts";
import { PRUNE_CRON, SWEEP_CRON, triggerCron } from "./cron.ts";
import type { World } from "./world.ts";

const MINUTE = 60_000;

/** How often expired rows are pruned at the end: one run may not do all. */
const PRUNINGS = 4;

const HOUR = 60 * MINUTE;

/** Milliseconds until each lost attempt counts as lost, a sweep has found it, and due deliveries are posted. */
const SWEPT_MS = 6 * MINUTE;

/** The most webhooks of a site that get much at the end. */
const MOST_ASKED = 3;

/** Longer than a used ranstr is remembered: then all calls can be counted. */
const COUNTED_MS = 33 * MINUTE;

/** Longer than all waits between the eight attempts of a delivery. */
const LAST_ATTEMPT_MS = 36 * HOUR;

/** From here on nobody begins anything new, and nothing fails except the receivers that never get well. */
export function calm(world: World): void {
  world.closing = true;
  world.cloud.rough = false;
  world.checker.deliveries.liveness.calms(world.clock);
  for (const home of world.cloud.homes.values()) home.state = "up";
  const { receivers } = world.cloud.internet;
  for (const receiver of receivers.values()) receiver.end(world.weather.receivers.hopeless);
  // In a step of its own: between two steps, time may jump before the first call has set out.
  const end = receivers.size > 0 ? sweepOn : pruneOn;
  world.scheduler.after(0, () => world.start(() => end(world)));
}

/** Milliseconds that the end takes. */
export const endMs = ({ cloud }: World): number =>
  cloud.internet.receivers.size > 0 ? LAST_ATTEMPT_MS + 4 * SWEPT_MS : COUNTED_MS + 2 * PRUNINGS * MINUTE;

/**
 * A sweep each minute, and then none for long, so deliveries must come by the queue. At the end some more sweeps, after
 * the pruning of expired rows.
 */
async function sweepOn(world: World): Promise<void> {
  await sweepFor(world, SWEPT_MS);
  await Promise.all(world.company.sitesAtWork.map((site) => sendMuch(world, site)));
  await world.sleep(LAST_ATTEMPT_MS);
  await pruneAll(world);
  await sweepFor(world, 2 * SWEPT_MS);
  world.checker.deliveries.runEnds(world.clock);
}

/** Without webhooks, nothing but pruning is left to do. Calls in flight end first. */
async function pruneOn(world: World): Promise<void> {
  await world.sleep(COUNTED_MS);
  await pruneAll(world);
}

/** Prunes until nothing is left that has to go, and asks whether that is so. */
async function pruneAll(world: World): Promise<void> {
  for (let i = 0; i < PRUNINGS; i++) {
    await triggerCron(world, PRUNE_CRON, world.chance.one(world.weather.edges));
    if (i < PRUNINGS - 1) await world.sleep(MINUTE);
  }
  world.checker.isPruned(world.company.underRestore);
}

/**
 * Sends events again to all webhooks at once, and asks each receiver whether it is well. Nothing else happens then, so
 * each attempt must begin when it is due.
 */
async function sendMuch(world: World, site: KnownSite): Promise<void> {
  const keeper = new WebhookKeeper(new Operator(world));
  await Promise.all(
    site.webhooks.slice(0, MOST_ASKED).map(async (webhook) => {
      await keeper.sendAgain(webhook, world.chance.one(["what failed or waits", "what was delivered"]));
      await keeper.ping(webhook);
      // A site that is well waits for its places beside those that hang.
      if (site.siteId % 2 === 0) return;
      // The webhook fails by then, and has as many attempts in flight as it may have.
      await keeper.pingHanging(webhook, 20_000);
    }),
  );
}

async function sweepFor(world: World, milliseconds: number): Promise<void> {
  for (let swept = 0; swept < milliseconds; swept += MINUTE) {
    await triggerCron(world, SWEEP_CRON, world.chance.one(world.weather.edges));
    await world.sleep(MINUTE);
  }
}
