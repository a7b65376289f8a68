import { Operator } from "../../operators/acts/operator.ts";
import type { RowChange } from "../../platform/database.ts";
import type { KnownWebhook } from "../../world/company.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { attemptOf } from "./attempt-of.ts";
import { pathOf, WebhookKeeper } from "./operator-webhooks.ts";

/** Milliseconds for which one write waits until the other is done. */
const HELD_MS = 700;

/** An operator changes a webhook while the Worker records a result or disables it. By chance either comes first. */
export async function crossTheWorker(world: World): Promise<void> {
  const operator = new Operator(world);
  const { chance } = operator;
  while (!world.closing) {
    await pause(world, chance, chance.between(50, 1_500));
    const webhooks = world.company.sitesAtWork.flatMap((site) => site.webhooks);
    if (webhooks.length === 0 || world.closing) continue;
    const webhook = chance.one(webhooks);
    await (chance.happens(0.5) ? workerFirst : operatorFirst)(operator, webhook);
    world.cloud.internet.receivers.get(webhook.url)?.change(1);
  }
}

/** The operator has read the webhook, but writes only after the Worker has disabled it. */
async function workerFirst(operator: Operator, webhook: KnownWebhook): Promise<void> {
  const { world } = operator;
  const attempt = await attemptOf(operator, webhook, { after: 150, status: 410, body: "" });
  if (attempt === undefined) return;
  const { post } = attempt;
  const path = `/admin${pathOf(webhook)}`;
  const to = `${webhook.site.home} batch`;
  const arrives = world.moments.whenArrives(({ wire }) => wire.method === "PATCH" && wire.path === path, HELD_MS);
  const change = new WebhookKeeper(operator).change(webhook);
  const call = await arrives;
  if (call !== undefined) call.hold = { to, milliseconds: HELD_MS };
  const isDisabled = ({ table, after }: RowChange) =>
    table === "webhooks" && after?.id === webhook.id && after.status === "disabled";
  const commit = await world.moments.when(
    (each) => (each.kind === "commits" && each.call === post.call && each.changes.some(isDisabled)) || undefined,
    HELD_MS,
  );
  const waits = call?.answer === undefined && call?.trips.some((each) => each.isOpen && each.to === to);
  if (commit && waits) world.count("moment: disabled before an operator's write");
  await change;
}

/** The Worker has the result of an attempt, but records it only after the operator has changed the webhook. */
async function operatorFirst(operator: Operator, webhook: KnownWebhook): Promise<void> {
  const { world, chance } = operator;
  const keeper = new WebhookKeeper(operator);
  const status = chance.one([410, 410, 500, 200]);
  const attempt = await attemptOf(operator, webhook, { after: 20, status, body: "" });
  if (attempt === undefined) return;
  const { post } = attempt;
  const to = `${webhook.site.home} batch`;
  post.call.hold = { to, milliseconds: HELD_MS };
  await chance.one([
    () => keeper.move(webhook),
    () => keeper.move(webhook),
    () => keeper.change(webhook),
    () => keeper.setStatus(webhook, "disabled"),
    () => keeper.rotate(webhook, 30),
  ])();
  if (post.call.trips.some((each) => each.isOpen && each.to === to))
    world.count("moment: an operator's change before a result");
  await world.sleep(HELD_MS);
}
