import type { Call } from "../../world/call.ts";
import type { OutboxModel } from "../events/outbox-model.ts";
import { type Attempt, isPing } from "./attempt.ts";
import { mayBegin, messagesOf, PLACES } from "./turns.ts";

/** How sites and failing webhooks share the places of one run: docs/architecture.md, "The way of an event". */

type Broken = [rule: string, what: string] | undefined;

/** From the key of an attempt to that of its webhook. */
const webhookOf = (key: string): string => key.split("/").slice(0, 2).join("/");

/**
 * @param own     all attempts of the run in one home, the new ones last
 * @param begun   how many of them are new
 * @param waiting the webhooks that had something due when the run began; undefined when the new ones are not its first
 */
export function wrongPlaces(
  outbox: OutboxModel,
  home: string,
  call: Call,
  { own, begun, waiting }: { own: readonly Attempt[]; begun: number; waiting: ReadonlySet<string> | undefined },
): Broken {
  if (begun === 0) return undefined;
  const told = messagesOf(call);
  const homes = new Set(told.map((each) => each.home).filter((name) => !call.settings.closedHomes.includes(name)));
  const places = Math.floor(PLACES / Math.max(1, homes.size));
  const held = own.filter(
    ({ post, endedAt }, i) => i >= own.length - begun || (post !== undefined && endedAt === undefined),
  );
  // One that was leased while its webhook failed counts no more when another attempt has succeeded since.
  const failed = ({ key, webhooks }: Attempt) =>
    webhooks[0]?.failing_since !== null && outbox.webhooks.get(webhookOf(key))?.failing_since !== null;
  const ofFailing = held.filter((each) => failed(each) && !isPing(each));
  const isNew = ofFailing.some((each) => own.indexOf(each) >= own.length - begun);
  const most = Math.max(1, Math.floor(places / 3));
  // When an answer of D1 is lost, the run posts seconds later what it has leased, and does not know which webhooks fail since.
  if (isNew && ofFailing.length > most && call.faults.length === 0) {
    return ["failing webhooks share two of a run's six places", `${ofFailing.length} of ${places} are theirs`];
  }
  // After a fault of D1 an earlier turn may have leased nothing, which leaves no trace.
  if (waiting === undefined || call.faults.length > 0) return undefined;
  for (const [site, its] of Map.groupBy(held, ({ key }) => Number(key.split("/")[0]))) {
    if (its.length <= Math.max(1, Math.floor(places / 2))) continue;
    const now = Number(its[0]?.leasedAt);
    const isWaiting = (each: (typeof told)[number]) =>
      each.home === home && each.site !== site && waiting.has(`${home}/${each.site}/${each.webhook}`);
    // Failing webhooks without a place for them wait for each other. With a place for each webhook, the first batch does not know yet
    // which of them fail, and may leave a failing one to the next.
    const webhooks = new Set(told.filter((each) => each.home === home).map((each) => `${each.site}/${each.webhook}`));
    const isForFailing = webhooks.size > PLACES && ofFailing.length < most;
    const mayWait = (each: (typeof told)[number]) =>
      isForFailing || outbox.webhooks.get(`${each.site}/${each.webhook}`)?.failing_since === null;
    const waits = told.find(
      (each) => isWaiting(each) && mayWait(each) && mayBegin(outbox, each.site, each.webhook, now),
    );
    const hasNone = waits !== undefined && held.every(({ key }) => !key.startsWith(`${waits.site}/${waits.webhook}/`));
    if (hasNone) {
      return ["while another site waits, a site has at most half of a run's places", `${its.length} of ${places}`];
    }
  }
  return undefined;
}
