import type { HomeModel } from "../../checker/home-model.ts";
import type { OutboxModel } from "../../deliveries/rules/outbox-model.ts";
import type { Row } from "../../platform/database.ts";
import type { Settings } from "../../world/cloud/settings.ts";

/** How long events and deliveries are kept: docs/operating.md, "Pruning". */

const DAY = 86_400;

export const keptUntil = ({ created_at }: Row, { eventRetentionDays }: Settings): number =>
  Number(created_at) + Math.max(2, eventRetentionDays) * DAY;

/** Whether an event is its site's newest. It must never be pruned, because the next seq is counted from it. */
export const isNewest = (outbox: OutboxModel, { site_id, seq }: Row): boolean =>
  outbox.newestSeq(Number(site_id)) === Number(seq);

/** A pending delivery keeps later deliveries of its webhook from being pruned, up to this difference in seq. */
const WINDOW = 1_000;

/** Whether a delivery may be removed: it has ended and was kept long enough, or its webhook is gone. */
export const isOver = (outbox: OutboxModel, row: Row, settings: Settings, clock: number): boolean =>
  outbox.webhookOf(row) === undefined || (row.status !== "pending" && keptUntil(row, settings) <= clock);

/** Whether a pending delivery keeps this later one of the same webhook from being removed. */
export const isHeldUp = (outbox: OutboxModel, { site_id = null, webhook_id = null, seq }: Row): boolean =>
  outbox
    .deliveriesOf({ site_id, id: webhook_id })
    .some((each) => each.status === "pending" && Number(each.seq) + WINDOW <= Number(seq));

/** @returns why the cron job must not remove a row of events or deliveries */
export function wrongPrune({ outbox }: HomeModel, table: string, row: Row, settings: Settings, clock: number) {
  if (table === "deliveries") return isOver(outbox, row, settings, clock) ? undefined : "it is pending or not expired";
  if (keptUntil(row, settings) > clock) return "it has not expired";
  return isNewest(outbox, row) ? "it is the newest event of its site" : undefined;
}
