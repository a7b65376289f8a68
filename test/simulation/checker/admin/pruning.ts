import type { Change, Row as Stored } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { TRANSIENT_FAULT } from "../../world/cloud/database-link.ts";
import { wrongLeftover } from "../deliveries/results.ts";
import { isHeldUp, isNewest, isOver, keptUntil, wrongPrune } from "../events/retention.ts";
import type { HomeModel } from "../home-model.ts";
import { refusalKeptUntil } from "../journal/request-time.ts";
import type { Model } from "../model.ts";
import type { Violate } from "../violate.ts";
import { misses } from "./row-changes.ts";

/**
 * The largest difference between the times of two events in a row: clocks differ, so an event may have an earlier time
 * than the one before it. A run that finds the first event of a site too old removes all old ones.
 */
const APART_SECONDS = 20;

/** How long a deleted token stays. */
const DELETED_TOKEN_SECONDS = 86_400;

interface Row {
  home: string;
  name: string;
  /** Unix seconds. */
  expiresAt: number;
}

/** The expired rows of the open homes when a run began. */
interface Run {
  nonces: Row[];
  keys: Row[];
  events: Row[];
  deliveries: { home: string; name: string; row: Stored }[];
  refusals: { home: string; name: string; row: unknown }[];
  /** Whether a home was restored since the run began. */
  disturbed: boolean;
}

/** Checks what the cron job removes: docs/operating.md, "Pruning". */
export class Pruning {
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #runs = new Map<Call, Run>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  arrives(call: Call): void {
    const { closedHomes } = call.settings;
    const run: Run = { nonces: [], keys: [], events: [], deliveries: [], refusals: [], disturbed: false };
    for (const { name: home, nonces, keys, outbox, refusals, counts } of this.#model.homes.values()) {
      if (closedHomes.includes(home)) continue;
      for (const [name, expiresAt] of nonces) if (expiresAt <= call.clock) run.nonces.push({ home, name, expiresAt });
      for (const [name, { expiresAt }] of keys) if (expiresAt <= call.clock) run.keys.push({ home, name, expiresAt });
      for (const [name, row] of refusals) {
        const at = Number(row.at);
        const isOld = refusalKeptUntil(name, call.settings) <= call.clock;
        // What is not counted yet stays.
        if (isOld && at <= (counts.refusalsUntil ?? at)) run.refusals.push({ home, name, row });
      }
      for (const [name, row] of outbox.events) {
        const expiresAt = keptUntil(row, call.settings);
        const isOld = expiresAt + APART_SECONDS <= call.clock;
        if (isOld && !isNewest(outbox, row)) run.events.push({ home, name, expiresAt });
      }
      for (const [name, row] of outbox.deliveries) {
        const isToGo = isOver(outbox, row, call.settings, call.clock - APART_SECONDS) && !isHeldUp(outbox, row);
        if (isToGo) run.deliveries.push({ home, name, row });
      }
    }
    this.#runs.set(call, run);
  }

  /** A home was restored. */
  disturb(): void {
    for (const run of this.#runs.values()) run.disturbed = true;
  }

  /** @param all the changes of the transaction */
  checkWritten(home: string, call: Call, changes: Change[], all: readonly Change[]): void {
    for (const change of changes) {
      const wrong = wrongRemoval(this.#model.home(home), call, change, all);
      if (wrong === undefined) continue;
      const what = `${call.name} at ${home}: ${wrong}: ${JSON.stringify(change)}`;
      this.#violate("only expired rows are pruned", what, [call.name]);
    }
  }

  /** A run of the cron job has ended. */
  checkDone(call: Call): void {
    const run = this.#runs.get(call);
    this.#runs.delete(call);
    if (run === undefined || run.disturbed || !call.alive || call.faults.includes(TRANSIENT_FAULT)) return;
    // A home that fails stops only its own pruning.
    const failed = new Set(call.faults.map((fault) => fault.split(":")[0]));
    const home = (name: string) => this.#model.home(name);
    // Retention may have taken newer events in the same run, so that an old one is the newest, which stays.
    const mayStay = ({ outbox }: HomeModel, event: Stored | undefined) =>
      event === undefined || isNewest(outbox, event);
    const left =
      run.nonces.find((row) => !failed.has(row.home) && home(row.home).nonces.get(row.name) === row.expiresAt) ??
      run.keys.find((row) => !failed.has(row.home) && home(row.home).keys.get(row.name)?.expiresAt === row.expiresAt) ??
      run.events.find(({ home: at, name }) => {
        return !failed.has(at) && !mayStay(home(at), home(at).outbox.events.get(name));
      }) ??
      // A delivery that was sent again since then, and a refused call whose message came once more, are other row objects.
      run.refusals.find(({ home: at, name, row }) => !failed.has(at) && home(at).refusals.get(name) === row) ??
      run.deliveries.find(({ home: at, name, row }) => !failed.has(at) && home(at).outbox.deliveries.get(name) === row);
    if (left === undefined) return;
    const what = `${call.name} left ${JSON.stringify(left)}`;
    this.#violate("a run prunes all expired rows of the homes that answer", what, [call.name]);
  }
}

function wrongRemoval(
  home: HomeModel,
  { clock, settings }: Call,
  change: Change,
  all: readonly Change[],
): string | undefined {
  const { table, before, after } = change;
  if (settings.closedHomes.includes(home.name)) return "the home is closed";
  if (table === "deliveries" && before !== null && after !== null) {
    if (isPruned(before, all)) return misses(after, skipped(before));
    return wrongLeftover(change, home.outbox.webhookOf(after));
  }
  if (after !== null || before === null) return "it is no removal";
  if (table === "events") {
    const said = [...home.outbox.deliveries.values()].find(
      (row) => row.last_error !== null && isPruned(row, [change]) && home.outbox.webhookOf(row) !== undefined,
    );
    if (said !== undefined) return `what a receiver said of it stays: ${JSON.stringify(said)}`;
  }
  if (table === "events" || table === "deliveries") return wrongPrune(home, table, before, settings, clock);
  if (table === "refusals") {
    if (Number(before.at) > (home.counts.refusalsUntil ?? Number(before.at))) return "it is not counted";
    return refusalKeptUntil(String(before.request_id), settings) > clock ? "it has not expired" : undefined;
  }
  if (table === "admin_tokens") {
    const isOld = before.deleted_at !== null && Number(before.deleted_at) + DELETED_TOKEN_SECONDS <= clock;
    return isOld ? undefined : "it was not deleted a day ago";
  }
  if (table !== "nonces" && table !== "idempotency_keys") return "no row that expires";
  return Number(before.expires_at) > clock ? "it has not expired" : undefined;
}

/** Whether the event of a delivery is removed by these changes. */
const isPruned = ({ site_id, seq }: Stored, all: readonly Change[]): boolean =>
  all.some(
    ({ table, before, after }) =>
      table === "events" && after === null && before?.site_id === site_id && before?.seq === seq,
  );

/** A delivery whose event is pruned. */
const skipped = (before: Stored): Stored => ({
  ...before,
  status: before.status === "pending" ? "skipped" : (before.status ?? null),
  next_attempt_at: null,
  claim: null,
  last_error: null,
});
