import type { Model } from "../../checker/model.ts";
import { wrongRow } from "../../checker/row-changes.ts";
import type { BrokenRule, Violate } from "../../checker/violate.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { clockOf, SKEW_SECONDS } from "./attempt.ts";
import { isOutbox } from "./outbox-model.ts";
import { FAILING_EVENT, WebhookEvents } from "./webhook-events.ts";

/** What the sweep tells other webhooks about failing ones: docs/operating/webhooks.md, "Webhooks". */

/** How long a webhook fails before other webhooks get an event about it. */
const NOTIFY_AFTER_SECONDS = 300;

export class Sweeps {
  readonly #model: Model;
  readonly #violate: Violate;

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  /**
   * Checks the rows that a run of a cron trigger has changed. The model applies them one by one.
   *
   * @param others checks all other changes
   */
  checkWritten(
    home: string,
    call: Call,
    changes: readonly RowChange[],
    apply: (change: RowChange) => void,
    others: (change: RowChange) => void,
  ): void {
    const ownEvents = new WebhookEvents(this.#model.home(home));
    const from = Math.min(call.clock, clockOf(call)) - SKEW_SECONDS;
    const report = (wrong: BrokenRule) => {
      if (wrong !== undefined) this.#violate(wrong[0], `${call.name}: ${wrong[1]}`, [call.name]);
    };
    for (const change of changes) {
      const { table, before, after } = change;
      if (table === "webhooks") {
        const wrong = wrongNote(home, call, change);
        if (wrong !== undefined)
          report(["the sweep changes a webhook only to note when other webhooks were told that it fails", wrong]);
        ownEvents.mustWrite(FAILING_EVENT, after as Row);
      } else if (isOutbox(table) && before === null) {
        report(ownEvents.wrong(change, { from, to: from + 3 * SKEW_SECONDS }));
      } else others(change);
      apply(change);
    }
    report(ownEvents.missed());
  }
}

function wrongNote(home: string, call: Call, change: RowChange): string | undefined {
  const { before, after } = change;
  if (before === null || after === null) return "it adds or removes a webhook";
  if (call.settings.closedHomes.includes(home)) return `${home} is closed`;
  if (before.failing_told_at !== null) return `they were told of ${before.id} at ${before.failing_told_at}`;
  const { id, status, failing_since } = before;
  const isFailing = failing_since !== null && Number(failing_since) <= call.clock + SKEW_SECONDS - NOTIFY_AFTER_SECONDS;
  if (status !== "enabled" || !isFailing) return `${id} is ${status}, failing since ${failing_since}`;
  const at = Number(after.failing_told_at);
  if (Math.abs(at - call.clock) > 2 * SKEW_SECONDS) return `failing_told_at is ${after.failing_told_at}`;
  return wrongRow(change, { failing_told_at: at });
}
