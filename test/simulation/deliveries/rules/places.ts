import type { BrokenRule } from "../../checker/violate.ts";
import type { Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { type Attempt, isPing, isSuccess } from "./attempt.ts";
import { keyOf, type OutboxModel } from "./outbox-model.ts";
import { isSuspect, messagesOf, PLACES } from "./turns.ts";

/** How sites and suspect webhooks share the places of one run: docs/architecture.md, "The way of an event". */

const webhookOf = (key: string): string => key.split("/").slice(0, 2).join("/");

const siteOf = ({ key }: Attempt): string => String(key.split("/")[0]);

/** The attempts of a run in one home. */
interface LeaseTurn {
  earlier: readonly Attempt[];
  begun: readonly Attempt[];
  /** The deliveries of sound webhooks that could begin when the run began and are still due, by webhook. */
  due: ReadonlyMap<string, readonly Row[]>;
}

/** How many places a run has for each of its homes. */
function placesOf(call: Call): number {
  const homes = new Set(messagesOf(call).map(({ home }) => home));
  const open = [...homes].filter((name) => !call.settings.closedHomes.includes(name));
  return Math.floor(PLACES / Math.max(1, open.length));
}

export function wrongPlaces(outbox: OutboxModel, home: string, call: Call, turn: LeaseTurn): BrokenRule {
  // After a lost answer of D1, a run begins attempts seconds after it has leased them, and does not see later changes.
  if (turn.begun.length === 0 || call.faults.length > 0) return undefined;
  return wrongSuspects(outbox, call, turn) ?? wrongHalf(outbox, home, call, turn);
}

function wrongSuspects(outbox: OutboxModel, call: Call, { earlier, begun }: LeaseTurn): BrokenRule {
  const open = [...earlier.filter(({ post, endedMs }) => post !== undefined && endedMs === undefined), ...begun];
  // An attempt whose webhook was suspect no longer counts when another attempt has succeeded since.
  const isTheirs = ({ key, webhooks: [then] }: Attempt) =>
    isSuspect(then) && isSuspect(outbox.webhooks.get(webhookOf(key)));
  const suspects = open.filter((each) => isTheirs(each) && !isPing(each));
  const most = Math.max(1, Math.floor(placesOf(call) / 3));
  if (!suspects.some((each) => begun.includes(each)) || suspects.length <= most) return undefined;
  return [
    "webhooks that fail, are slow or have not answered share two of a run's six places",
    `${suspects.length} of ${placesOf(call)} are theirs`,
  ];
}

function wrongHalf(outbox: OutboxModel, home: string, call: Call, { earlier, begun, due }: LeaseTurn): BrokenRule {
  // The run shares its places when it sends its batch to D1. It does not know which attempts end after that.
  const decidedAt = call.trips.findLast(({ to }) => to === `${home} batch`)?.at ?? 0;
  const isOpen = ({ endedMs }: Attempt) => endedMs === undefined || endedMs > decidedAt;
  const open = [...earlier.filter((each) => each.post !== undefined && isOpen(each)), ...begun];
  for (const [site, all] of Map.groupBy(open, siteOf)) {
    if (!all.some((each) => begun.includes(each)) || all.length <= Math.max(1, Math.floor(placesOf(call) / 2)))
      continue;
    const other = [...due].find(([key, rows]) => {
      // A webhook that was deleted or disabled meanwhile does not wait.
      if (key.startsWith(`${site}/`) || outbox.webhooks.get(key)?.status !== "enabled") return false;
      const isServed = earlier.some((each) => webhookOf(each.key) === key && (isOpen(each) || !isSuccess(each)));
      const isLeft = (row: Row) => {
        const name = keyOf("deliveries", row);
        return outbox.deliveries.get(name) === row || begun.some((each) => each.key === name);
      };
      return !isServed && rows.some(isLeft);
    });
    if (other !== undefined) {
      const what = `${all.length} of ${placesOf(call)} are of site ${site}, ${other[0]} waits`;
      return ["while another site waits, a site has at most half of a run's places", what];
    }
  }
  return undefined;
}
