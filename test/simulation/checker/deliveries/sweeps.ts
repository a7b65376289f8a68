import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { TRANSIENT_FAULT } from "../../world/cloud/database-link.ts";
import { becomes } from "../admin/row-changes.ts";
import { isOutbox } from "../events/outbox-model.ts";
import { FAILING_EVENT, Telling } from "../events/told-events.ts";
import type { HomeModel } from "../home-model.ts";
import type { Model } from "../model.ts";
import type { Violate } from "../violate.ts";

/** What the sweep tells of failing webhooks: docs/operating.md, "Webhooks". */

const SWEEP_CRON = "* * * * *";
/** A webhook fails for so long before others are told. */
const TOLD_AFTER_SECONDS = 300;
/** The largest difference between the clocks of two isolates. */
const SKEW_SECONDS = 20;

/** A webhook that a run must tell of. */
interface Untold {
  home: string;
  key: string;
  since: number;
}

export class Sweeps {
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #untold = new Map<Call, Untold[]>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  arrives(call: Call): void {
    if (call.wire.path !== SWEEP_CRON) return;
    const untold = [...this.#model.homes.values()].flatMap((home) => {
      if (call.settings.closedHomes.includes(home.name)) return [];
      const isDue = (row: Row) => isUntold(row, call.clock - SKEW_SECONDS) && isWaiting(home, row);
      const due = [...home.outbox.webhooks].filter(([, row]) => isDue(row));
      const areOn = due.filter(([, row]) => home.sites.get(Number(row.site_id))?.row.events === 1);
      return areOn.map(([key, row]) => ({ home: home.name, key, since: Number(row.failing_since) }));
    });
    this.#untold.set(call, untold);
  }

  /** A home was restored. */
  disturb(): void {
    this.#untold.clear();
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

  /** A run of the sweep has ended. */
  checkDone(call: Call): void {
    const untold = this.#untold.get(call) ?? [];
    this.#untold.delete(call);
    if (!call.alive || call.faults.includes(TRANSIENT_FAULT)) return;
    const failed = new Set(call.faults.map((fault) => fault.split(":")[0]));
    const left = untold.find(({ home, key, since }) => {
      const now = this.#model.home(home).outbox.webhooks.get(key);
      const isSame = now?.failing_since === since && now.status === "enabled" && now.failing_told_at === null;
      const isLeft = isSame && !failed.has(home) && isWaiting(this.#model.home(home), now);
      return isLeft && this.#model.home(home).sites.get(Number(now.site_id))?.row.events === 1;
    });
    if (left !== undefined)
      this.#broken("the sweep tells of each webhook that has failed for five minutes", call, JSON.stringify(left));
  }
}

/**
 * Whether something is pending for a webhook. A webhook for which nothing waits is told of only if the sweep came
 * before: without one for days, its last delivery may have failed.
 */
const isWaiting = ({ outbox }: HomeModel, webhook: Row): boolean =>
  outbox.deliveriesOf(webhook).some(({ status }) => status === "pending");

/** Whether a webhook has failed for a while and nobody was told. */
const isUntold = ({ status, failing_since, failing_told_at }: Row, now: number): boolean =>
  status === "enabled" &&
  failing_since !== null &&
  failing_told_at === null &&
  Number(failing_since) <= now - TOLD_AFTER_SECONDS;
