import { Operator } from "../../operators/acts/operator.ts";
import type { KnownWebhook } from "../../world/company.ts";
import { PRUNE_CRON, triggerCron } from "../../world/cron.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { attemptOf, sendOneAgain } from "./attempt-of.ts";
import { pathOf, WebhookKeeper } from "./operator-webhooks.ts";
import type { Post } from "./post.ts";

/** An attempt in flight: its receiver has got the post, and has not answered yet. */
interface InFlight {
  operator: Operator;
  keeper: WebhookKeeper;
  webhook: KnownWebhook;
  seq: number;
  post: Post;
}

/** What others do while an attempt is in flight. */
export const WHILE_IN_FLIGHT: Record<string, (attempt: InFlight) => Promise<unknown>> = {
  "sent again": ({ operator, webhook, seq }) =>
    operator.insist("POST", `${pathOf(webhook)}/deliveries/${seq}/redeliver`),
  "all sent again": ({ operator, webhook, seq }) => {
    const body = { after_seq: seq - 1, status: ["failed", "pending"] };
    return operator.insist("POST", `${pathOf(webhook)}/redeliver`, body);
  },
  "another URL": ({ keeper, webhook }) => keeper.move(webhook),
  disabled: ({ keeper, webhook }) => keeper.setStatus(webhook, "disabled"),
  "disabled and enabled": async ({ keeper, webhook }) => {
    await keeper.setStatus(webhook, "disabled");
    await keeper.setStatus(webhook, "enabled");
  },
  deleted: ({ keeper, webhook }) => keeper.delete(webhook),
  "well again": succeedMeanwhile,
  erased: erase,
  aged: ageAttempt,
  "held back": loseItsLease,
};

/** The status that the receiver answers, with weights. 0 is no answer. */
const ENDS = { 200: 4, 500: 4, 410: 1, 0: 1 };
const OPERATORS = 4;
const PAUSE_MS = [20, 400] as const;
/** Milliseconds until something happens to the attempt. */
const BEFORE_MS = [50, 150] as const;
/** Longer than a webhook may fail before the Worker disables it. */
const FAILING_SECONDS = 5.1 * 86_400;
/** Milliseconds after which the result is recorded. */
const RECORDED_MS = 300;

/** Lets several operators act during attempts. Each act of {@link WHILE_IN_FLIGHT} has its turn. */
export function meetAttempts(world: World): void {
  const actsLeft = new Set<string>();
  for (let i = 0; i < OPERATORS; i++) world.start(() => meetInTurn(new Operator(world), actsLeft));
}

async function meetInTurn(operator: Operator, actsLeft: Set<string>): Promise<void> {
  const { world, chance } = operator;
  while (!world.closing) {
    await pause(world, chance, chance.between(...PAUSE_MS));
    const webhooks = world.company.sitesAtWork.flatMap((site) => site.webhooks);
    if (webhooks.length === 0 || world.closing) continue;
    if (actsLeft.size === 0) for (const name of Object.keys(WHILE_IN_FLIGHT)) actsLeft.add(name);
    const name = chance.one([...actsLeft]);
    actsLeft.delete(name);
    if (!(await meet(operator, chance.one(webhooks), name))) actsLeft.add(name);
  }
}

/** @returns whether the act was done while the attempt was in flight */
async function meet(operator: Operator, webhook: KnownWebhook, name: string): Promise<boolean> {
  const { world, chance } = operator;
  const { site } = webhook;
  const keeper = new WebhookKeeper(operator);
  const { promise: until, resolve: answer } = Promise.withResolvers<void>();
  const status = Number(chance.weighted(ENDS));
  const outcome = status > 0 && { after: chance.between(1, 500), status, body: "so it ends", until };
  const attempt = await attemptOf(operator, webhook, outcome || "silence", beginAttempt);
  await world.sleep(chance.between(...BEFORE_MS));
  if (attempt?.post.isOpen !== true) return false;
  const { post } = attempt;
  world.say(() => [post.name, `meets: ${name}`]);
  await WHILE_IN_FLIGHT[name]?.({ operator, keeper, webhook, ...attempt });
  const isMet = post.isOpen;
  if (isMet) world.count(`moment: in flight, ${name}`);
  answer();
  if (isMet) await whenEnds(world, post);
  await world.sleep(RECORDED_MS);
  if (site.webhooks.length === 0) await keeper.add(site);
  return isMet;
}

/** Causes an attempt: a ping, an event that is sent again, or the last attempt of a pending delivery. */
async function beginAttempt(operator: Operator, webhook: KnownWebhook): Promise<void> {
  const { world, chance } = operator;
  if (chance.happens(0.25)) return new WebhookKeeper(operator).ping(webhook);
  if (chance.happens(0.4) && makeLastAttempt(world, webhook)) return;
  await sendOneAgain(operator, webhook);
}

const whenEnds = (world: World, post: Post): Promise<unknown> =>
  world.moments.when(
    (each) => ((each.kind === "hears" || each.kind === "misses") && each.post === post ? true : undefined),
    16_000,
  );

/** Lets another attempt to the same webhook succeed. */
async function succeedMeanwhile({ operator, webhook }: InFlight): Promise<void> {
  const well = await attemptOf(operator, webhook, { after: 20, status: 200, body: "" });
  if (well !== undefined) await whenEnds(operator.world, well.post);
  await operator.world.sleep(RECORDED_MS);
}

/**
 * Sets a pending delivery's attempts to seven, as after a day of failures. If its webhook fails, sets failing_since to
 * more than five days ago.
 *
 * @returns whether there was a pending delivery
 */
function makeLastAttempt({ cloud, checker }: World, { id, site }: KnownWebhook): boolean {
  const { siteId, home } = site;
  const { outbox } = checker.model.home(home);
  const waiting = outbox
    .deliveriesOf({ site_id: siteId, id })
    .find((row) => row.status === "pending" && row.claim === null);
  if (waiting === undefined || outbox.eventOf(waiting)?.type === "ping") return false;
  const sql = `UPDATE deliveries SET attempts = 7, next_attempt_at = min(next_attempt_at, ?)
    WHERE site_id = ? AND webhook_id = ? AND seq = ? AND status = 'pending' AND claim IS NULL`;
  const now = Math.floor(cloud.now() / 1000) - 10;
  const fails = `UPDATE webhooks SET failing_since = ?, failing_told_at = NULL
    WHERE site_id = ? AND id = ? AND failing_since IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deliveries
      WHERE deliveries.site_id = webhooks.site_id AND deliveries.webhook_id = webhooks.id AND claim IS NOT NULL)`;
  cloud.home(home).database.transaction([
    { sql, values: [now, siteId, id, Number(waiting.seq)] },
    { sql: fails, values: [now - FAILING_SECONDS, siteId, id] },
  ]);
  cloud.events.comeTogether([{ home, site: siteId, webhook: id }]);
  return true;
}

async function erase({ operator, webhook: { site }, seq }: InFlight): Promise<void> {
  const { sessions, outbox } = operator.world.checker.model.home(site.home);
  const session = outbox.eventOf({ site_id: site.siteId, seq })?.session_id;
  const sbs = sessions.get(`${site.siteId}/${session}`)?.row.customer_external_id;
  if (sbs == null) return;
  await operator.insist("POST", `/sites/${site.siteId}/customers/erase`, { sbs: String(sbs) });
}

/** Shortens the site's retention, so that the event's session is too old: a day of retention is five seconds. */
async function ageAttempt({ operator, webhook: { site } }: InFlight): Promise<void> {
  const { world, chance } = operator;
  await operator.setSite(site, { retention_days: 1 });
  await triggerCron(world, PRUNE_CRON, chance.one(world.weather.edges));
  world.start(() => operator.setSite(site, { retention_days: null }));
}

/** Holds the attempt's result back until its lease has ended and another attempt has begun. */
async function loseItsLease({ operator, post, webhook: { id, site } }: InFlight): Promise<void> {
  const { world, chance } = operator;
  post.call.hold = { to: `${site.home} batch`, milliseconds: chance.between(50_000, 75_000) };
  world.start(async () => {
    await world.sleep(chance.between(61_000, 64_000));
    if (!world.closing) world.cloud.events.comeTogether([{ home: site.home, site: site.siteId, webhook: id }]);
  });
}
