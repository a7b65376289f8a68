import type { Model } from "../../checker/model.ts";
import { becomes } from "../../checker/row-changes.ts";
import type { Violate } from "../../checker/violate.ts";
import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { SKEW_SECONDS } from "./attempt.ts";
import { isOutbox } from "./outbox-model.ts";
import { FAILING_EVENT, Telling } from "./told-events.ts";

/** What the sweep tells of failing webhooks: docs/operating.md, "Webhooks". */

/** A webhook fails for so long before others are told. */
const TOLD_AFTER_SECONDS = 300;

export class Sweeps {
  readonly #model: Model;
  readonly #violate: Violate;

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  /**
   * A run of a cron trigger has changed rows. The model applies them one by one.
   *
   * @param others checks the changes that tell nothing
   */
  checkWritten(
    home: string,
    call: Call,
    changes: readonly Change[],
    apply: (change: Change) => void,
    others: (change: Change) => void,
  ): void {
    const telling = new Telling(this.#model.home(home));
    const from = Math.min(call.clock, call.isolate?.clock ?? call.clock) - SKEW_SECONDS;
    for (const change of changes) {
      const { table, before, after } = change;
      const isInserted = isOutbox(table) && before === null;
      if (table === "webhooks") {
        const wrong = this.#wrongNote(home, call, change);
        if (wrong !== undefined)
          this.#broken("the sweep notes only that others were told of a failing webhook", call, wrong);
        telling.mustTell(FAILING_EVENT, after as Row);
      } else if (isInserted) {
        const wrong = telling.wrong(change, { from, to: from + 3 * SKEW_SECONDS });
        if (wrong !== undefined) this.#broken(wrong[0], call, wrong[1]);
      } else others(change);
      apply(change);
    }
    const missed = telling.missed();
    if (missed !== undefined) this.#broken(missed[0], call, missed[1]);
  }

  #broken(rule: string, call: Call, what: string): void {
    this.#violate(rule, `${call.name}: ${what}`, [call.name]);
  }

  #wrongNote(home: string, call: Call, change: Change): string | undefined {
    const { before, after } = change;
    if (before === null || after === null) return "it adds or removes one";
    if (call.settings.closedHomes.includes(home)) return `${home} is closed`;
    if (before.failing_told_at !== null) return `they were told of ${before.id} at ${before.failing_told_at}`;
    if (!isUntold(before, call.clock + SKEW_SECONDS))
      return `${before.id} is ${before.status}, failing since ${before.failing_since}`;
    const at = Number(after.failing_told_at);
    if (Math.abs(at - call.clock) > 2 * SKEW_SECONDS) return `failing_told_at is ${after.failing_told_at}`;
    return becomes(change, { failing_told_at: at });
  }
}

/** Whether a webhook has failed for a while and nobody was told. */
const isUntold = ({ status, failing_since, failing_told_at }: Row, now: number): boolean =>
  status === "enabled" &&
  failing_since !== null &&
  failing_told_at === null &&
  Number(failing_since) <= now - TOLD_AFTER_SECONDS;
