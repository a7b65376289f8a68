import { WebhookKeeper } from "../deliveries/acts/operator-webhooks.ts";
import { Operator } from "../operators/acts/operator.ts";
import type { KnownSite } from "./company.ts";
import { PRUNE_CRON, SWEEP_CRON, triggerCron } from "./cron.ts";
import type { World } from "./world.ts";

const MINUTE = 60_000;

/** How often expired rows are pruned at the end, because one run may not prune all of them. */
const PRUNINGS = 4;

const HOUR = 60 * MINUTE;

/** Milliseconds until the leases of lost attempts have ended, a sweep has found them, and due deliveries are posted. */
const SWEPT_MS = 6 * MINUTE;

/** The most webhooks of a site that get many events at the end. */
const MOST_ASKED = 3;

/** Longer than a used ranstr is remembered. After that, usage has counted all calls. */
const COUNTED_MS = 33 * MINUTE;

/** Longer than all waits between the eight attempts of a delivery. */
const LAST_ATTEMPT_MS = 36 * HOUR;

/**
 * Begins the end of the run: no actor begins anything new, and nothing fails except the receivers that never get well.
 */
export function calmTheWorld(world: World): void {
  world.closing = true;
  world.cloud.isRough = false;
  world.checker.deliveries.liveness.calms(world.clock);
  for (const home of world.cloud.homes.values()) home.state = "up";
  const { receivers } = world.cloud.internet;
  for (const receiver of receivers.values()) receiver.end(world.weather.receivers.hopeless);
  // The end has its own step, because time may jump between two steps before the first call has begun.
  const end = receivers.size > 0 ? sweepOn : pruneOn;
  world.scheduler.after(0, () => world.start(() => end(world)));
}

export const endMs = ({ cloud }: World): number =>
  cloud.internet.receivers.size > 0 ? LAST_ATTEMPT_MS + 4 * SWEPT_MS : COUNTED_MS + 2 * PRUNINGS * MINUTE;

/**
 * Runs a sweep each minute, and then none for a long time, so that deliveries must come by the queue. After the pruning
 * of expired rows, runs some more sweeps.
 */
async function sweepOn(world: World): Promise<void> {
  await sweepFor(world, SWEPT_MS);
  await Promise.all(world.company.sitesAtWork.map((site) => sendMuch(world, site)));
  await world.sleep(LAST_ATTEMPT_MS);
  await pruneAll(world);
  await sweepFor(world, 2 * SWEPT_MS);
  world.checker.deliveries.runEnds(world.clock);
}

/** Prunes after the calls in flight have ended. Without webhooks, nothing else is left to do. */
async function pruneOn(world: World): Promise<void> {
  await world.sleep(COUNTED_MS);
  await pruneAll(world);
}

/** Prunes several times, and then checks that no expired row is left. */
async function pruneAll(world: World): Promise<void> {
  for (let i = 0; i < PRUNINGS; i++) {
    await triggerCron(world, PRUNE_CRON, world.chance.one(world.weather.edges));
    if (i < PRUNINGS - 1) await world.sleep(MINUTE);
  }
  world.checker.isPruned(world.company.underRestore);
}

/**
 * Sends events again and a ping to webhooks of a site, all at the same time. Nothing else happens then, so each attempt
 * must begin when it is due.
 */
async function sendMuch(world: World, site: KnownSite): Promise<void> {
  const keeper = new WebhookKeeper(new Operator(world));
  await Promise.all(
    site.webhooks.slice(0, MOST_ASKED).map(async (webhook) => {
      await keeper.sendAgain(webhook, world.chance.one(["what failed or waits", "what was delivered"]));
      await keeper.ping(webhook);
      // On every other site no receiver hangs. Such a site waits for places beside the sites that hang.
      if (site.siteId % 2 === 0) return;
      // By then the webhook counts as failing, and has as many attempts in flight as it may have.
      await keeper.pingHanging(webhook, 20_000);
    }),
  );
}

async function sweepFor(world: World, milliseconds: number): Promise<void> {
  for (let elapsed = 0; elapsed < milliseconds; elapsed += MINUTE) {
    await triggerCron(world, SWEEP_CRON, world.chance.one(world.weather.edges));
    await world.sleep(MINUTE);
  }
}
