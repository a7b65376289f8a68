import type { HomeModel } from "../../checker/home-model.ts";
import type { Model } from "../../checker/model.ts";
import { misses } from "../../checker/row-changes.ts";
import type { Violate } from "../../checker/violate.ts";
import type { OutboxModel } from "../../deliveries/rules/outbox-model.ts";
import { wrongLeftover } from "../../deliveries/rules/results.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Settings } from "../../world/cloud/settings.ts";

/**
 * The largest difference between the times of two events in a row. Clocks differ, so an event may have an earlier time
 * than the event before it. A run that finds the first event of a site too old removes all of its old events.
 */
const APART_SECONDS = 20;
const DAY_SECONDS = 86_400;
/** A pending delivery keeps later deliveries of its webhook from being pruned, up to this difference in seq. */
const WINDOW = 1_000;

/** Until when an event or a delivery is kept: docs/operating/data-and-restore.md, "Pruning". */
export const keptUntil = ({ created_at }: Row, { eventRetentionDays }: Settings): number =>
  Number(created_at) + Math.max(2, eventRetentionDays) * DAY_SECONDS;

/** Checks what the cron job removes: docs/operating/data-and-restore.md, "Pruning". */
export class Pruning {
  readonly #model: Model;
  readonly #violate: Violate;

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  /** @param all the changes of the transaction */
  checkWritten(home: string, call: Call, changes: RowChange[], all: readonly RowChange[]): void {
    for (const change of changes) {
      const wrong = wrongRemoval(this.#model.home(home), call, change, all);
      if (wrong === undefined) continue;
      const what = `${call.name} at ${home}: ${wrong}: ${JSON.stringify(change)}`;
      this.#violate("only expired rows are pruned", what, [call.name]);
    }
  }

  /** Checks at the end, when the cron job has run several times without a fault, that no expired row is left. */
  isPruned({ settings, clock }: Call, underRestore: ReadonlySet<string>): void {
    for (const home of this.#model.homes.values()) {
      if (settings.closedHomes.includes(home.name) || underRestore.has(home.name)) continue;
      const rowsLeft = findLeft(home, { settings, clock: clock - APART_SECONDS });
      if (rowsLeft !== undefined)
        this.#violate("no expired row stays", `${home.name}: ${JSON.stringify(rowsLeft)}`, []);
    }
  }
}

/** A row that should have been pruned. */
function findLeft({ nonces, keys, outbox }: HomeModel, { settings, clock }: Pick<Call, "settings" | "clock">): unknown {
  return (
    [...nonces].find(([, expiresAt]) => expiresAt <= clock) ??
    [...keys].find(([, { expiresAt }]) => expiresAt <= clock) ??
    [...outbox.events.values()].find((row) => keptUntil(row, settings) <= clock && !isNewest(outbox, row)) ??
    [...outbox.deliveries.values()].find((row) => isOver(outbox, row, settings, clock) && !isHeldUp(outbox, row))
  );
}

/** Whether an event is its site's newest. It must never be pruned, because the next seq is counted from it. */
const isNewest = (outbox: OutboxModel, { site_id, seq }: Row): boolean =>
  outbox.newestSeq(Number(site_id)) === Number(seq);

/** Whether a delivery may be removed: it has ended and was kept long enough, or its webhook is gone. */
const isOver = (outbox: OutboxModel, row: Row, settings: Settings, clock: number): boolean =>
  outbox.webhookOf(row) === undefined || (row.status !== "pending" && keptUntil(row, settings) <= clock);

/** Whether a pending delivery keeps this later one of the same webhook from being removed. */
const isHeldUp = (outbox: OutboxModel, { site_id = null, webhook_id = null, seq }: Row): boolean =>
  outbox
    .deliveriesOf({ site_id, id: webhook_id })
    .some((each) => each.status === "pending" && Number(each.seq) + WINDOW <= Number(seq));

function wrongRemoval(
  home: HomeModel,
  { clock, settings }: Call,
  change: RowChange,
  all: readonly RowChange[],
): string | undefined {
  const { table, before, after } = change;
  const { outbox } = home;
  if (settings.closedHomes.includes(home.name)) return "the home is closed";
  if (table === "deliveries" && before !== null && after !== null) {
    return isPruned(before, all) ? misses(after, skippedRow(before)) : wrongLeftover(change, outbox.webhookOf(after));
  }
  if (after !== null || before === null) return "it does not delete a row";
  switch (table) {
    case "admin_tokens":
    case "people": {
      // The row stays, so that a late try of the call that made it does not bring it back.
      const isYoung = Number(before.deleted_at ?? clock) > clock - DAY_SECONDS + APART_SECONDS;
      return isYoung ? "its row stays for a day" : undefined;
    }
    case "deliveries":
      return isOver(outbox, before, settings, clock) ? undefined : "it is pending or not expired";
    case "events":
      if (keptUntil(before, settings) > clock) return "it has not expired";
      return isNewest(outbox, before) ? "it is the newest event of its site" : undefined;
    case "nonces":
    case "idempotency_keys":
      return Number(before.expires_at) > clock ? "it has not expired" : undefined;
    default:
      return "rows of this table do not expire";
  }
}

/** Whether the event of a delivery is removed by these changes. */
const isPruned = ({ site_id, seq }: Row, all: readonly RowChange[]): boolean =>
  all.some(
    ({ table, before, after }) =>
      table === "events" && after === null && before?.site_id === site_id && before?.seq === seq,
  );

/** A delivery after its event was pruned. */
const skippedRow = (before: Row): Row => ({
  ...before,
  status: before.status === "pending" ? "skipped" : (before.status ?? null),
  next_attempt_at: null,
  claim: null,
  last_error: null,
});
