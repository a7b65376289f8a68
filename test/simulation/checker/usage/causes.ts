import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { JOURNAL } from "../../world/cloud/queues.ts";
import { isLease } from "../deliveries/leases.ts";
import { wrongLeftover } from "../deliveries/results.ts";
import type { HomeModel } from "../home-model.ts";
import { NONCE_SECONDS } from "../periods.ts";
import {
  addTo,
  type CountTable,
  callsOf,
  DAY,
  daysKept,
  HOUR,
  hoursKept,
  isCountedByRow,
  keyOf,
  type Sums,
  WHOLE_HOME,
} from "./count-rows.ts";

/** What a transaction must add to the counts, and why. */
export interface Cause {
  kind: "nothing" | "nonces" | "refusals" | "late" | "events" | "results" | "hours";
  usage: Sums;
  days: Sums;
  counters: Sums;
  /** Results of which nobody can say whether they are recorded or end with their webhook. */
  unclear: number;
}

const newCause = () => ({ usage: new Map(), days: new Map(), counters: new Map(), unclear: 0 });

/** A row before and after a whole transaction. */
interface Net {
  before: Row | null;
  after: Row | null;
}

/** How a transaction has changed the rows of a table, by their keys. */
export function netOf(table: CountTable, changes: readonly Change[]): Map<string, Net> {
  const net = new Map<string, Net>();
  for (const change of changes) {
    if (change.table !== table) continue;
    const key = keyOf(table, (change.after ?? change.before) as Row);
    net.set(key, { before: (net.get(key) ?? change).before, after: change.after });
  }
  return net;
}

/** Whether a home deletes all of a site. */
export const isEnding = ({ deletions, name }: HomeModel, siteId: unknown): boolean => {
  const row = deletions.get(Number(siteId));
  return row !== undefined && row.home === name && row.kept_at !== null;
};

interface Counted {
  row: Row;
  outcome: unknown;
  secret: unknown;
  count: number;
  at: number;
}

function addCalls(cause: Omit<Cause, "kind">, { row, outcome, secret, count, at }: Counted): void {
  const { site_id, appid, operation } = row;
  const hour = at - (at % HOUR);
  addTo(cause.usage, JSON.stringify([site_id, appid, hour, operation, outcome, secret ?? ""]), count, at);
  addTo(cause.counters, JSON.stringify([site_id, "calls", appid, operation, outcome]), count, 0);
  addTo(cause.counters, JSON.stringify([WHOLE_HOME, "calls", "", operation, outcome]), count, 0);
}

const addRefusal = (cause: Omit<Cause, "kind">, row: Row): void =>
  addCalls(cause, { row, outcome: row.reason, secret: row.secret, count: callsOf(row), at: Number(row.at) });

/** The nonces that a transaction of the cron job deletes because they have expired. Those of a site that ends go uncounted. */
export function expiredIn(home: HomeModel, call: Call | undefined, changes: readonly Change[]): Row[] {
  if (call?.role !== "cron") return [];
  const gone = changes.flatMap(({ table, before, after }) =>
    table === "nonces" && after === null && before !== null ? [before] : [],
  );
  const isOfEnd =
    gone.every(({ site_id }) => isEnding(home, site_id)) && changes.every(({ table }) => table === "nonces");
  return isOfEnd ? [] : gone;
}

/** Everything that a transaction must count. The model does not have its changes yet. */
export function causesOf(home: HomeModel, call: Call | undefined, changes: readonly Change[]): Cause[] {
  const isOfJournal = call?.role === "queue" && call.wire.path === JOURNAL.name;
  if (call?.role === "queue") return [isOfJournal ? late(home, changes) : results(home, changes)];
  if (call?.role !== "cron") return [];
  return [
    nonces(expiredIn(home, call, changes)),
    refusals(home, changes),
    events(home, changes),
    hours(home, changes),
  ].filter(({ usage, days, counters }) => usage.size + days.size + counters.size > 0);
}

function nonces(expired: readonly Row[]): Cause {
  const cause = newCause();
  for (const row of expired) {
    if (row.operation === null) continue;
    const at = Number(row.expires_at) - NONCE_SECONDS;
    addCalls(cause, { row, outcome: row.outcome, secret: row.secret, count: 1, at });
  }
  return { kind: "nonces", ...cause };
}

/** The rows of the journal that a step of the fold counts. */
export function foldedIn(home: HomeModel, changes: readonly Change[]): Row[] {
  const [moved] = netOf("folds", changes).values();
  const [from, to] = [moved?.before?.refusals_until ?? null, moved?.after?.refusals_until ?? null];
  if (from === null || to === null || from === to) return [];
  return [...home.refusals.values()].filter((row) => {
    const isThere = home.sites.has(Number(row.site_id)) && isCountedByRow(row);
    return isThere && Number(row.at) > Number(from) && Number(row.at) <= Number(to);
  });
}

function refusals(home: HomeModel, changes: readonly Change[]): Cause {
  const cause = newCause();
  // A call that was done adds nothing here, but its time is one at which the app was used.
  for (const row of foldedIn(home, changes)) addRefusal(cause, row);
  for (const sums of [cause.usage, cause.counters]) {
    for (const [key, { count }] of sums) if (count === 0) sums.delete(key);
  }
  return { kind: "refusals", ...cause };
}

function late({ counts }: HomeModel, changes: readonly Change[]): Cause {
  const cause = newCause();
  const { refusalsUntil } = counts;
  for (const { table, before, after } of changes) {
    if (table !== "refusals" || before !== null || after === null || refusalsUntil === undefined) continue;
    if (Number(after.at) <= refusalsUntil && isCountedByRow(after)) addRefusal(cause, after);
  }
  return { kind: "late", ...cause };
}

function events({ outbox }: HomeModel, changes: readonly Change[]): Cause {
  const cause = newCause();
  for (const { before, after } of netOf("counted_events", changes).values()) {
    if (after === null) continue;
    for (const { site_id, seq, type } of outbox.events.values()) {
      if (site_id !== after.site_id || Number(seq) <= Number(before?.seq ?? 0) || Number(seq) > Number(after.seq))
        continue;
      for (const site of [site_id, WHOLE_HOME])
        addTo(cause.counters, JSON.stringify([site, "events", "", type, ""]), 1, 0);
    }
  }
  return { kind: "events", ...cause };
}

function results(home: HomeModel, changes: readonly Change[]): Cause {
  const cause = newCause();
  const disabled = new Set<string>();
  for (const change of changes) {
    const { table, before, after } = change;
    if (before === null || after === null) continue;
    if (table === "webhooks" && after.status === "disabled") disabled.add(`${after.site_id}/${after.id}`);
    if (table !== "deliveries" || isLease(change)) continue;
    const webhook = home.outbox.webhookOf(after);
    const isDisabled = webhook?.status === "disabled" || disabled.has(`${after.site_id}/${after.webhook_id}`);
    if (isDisabled && wrongLeftover(change, { status: "disabled" }) === undefined) {
      if (before.claim !== null) cause.unclear++;
      continue;
    }
    const outcome = after.status === "pending" ? "failed" : after.status;
    addTo(cause.counters, JSON.stringify([WHOLE_HOME, "attempts", "", "", outcome]), 1, 0);
  }
  return { kind: "results", ...cause };
}

function hours(home: HomeModel, changes: readonly Change[]): Cause {
  const cause = newCause();
  for (const { before, after } of netOf("usage", changes).values()) {
    if (after !== null || before === null || isEnding(home, before.site_id)) continue;
    const { site_id, appid, hour, operation, outcome, secret } = before;
    const day = Number(hour) - (Number(hour) % DAY);
    const key = JSON.stringify([site_id, appid, day, operation, outcome, secret]);
    addTo(cause.days, key, Number(before.count), Number(before.last_at));
  }
  return { kind: "hours", ...cause };
}

/** Why rows of counts must not go, or not yet; undefined when they may. @param clock of the cron job, in Unix seconds */
export function wrongGone(home: HomeModel, clock: number, changes: readonly Change[]): string | undefined {
  for (const table of ["usage", "usage_days", "counters", "counted_events"] as const) {
    for (const { before, after } of netOf(table, changes).values()) {
      if (before === null || after !== null || isEnding(home, before.site_id)) continue;
      const isOld =
        (table === "usage" && Number(before.hour) < hoursKept(clock)) ||
        (table === "usage_days" && Number(before.day) < daysKept(clock));
      if (!isOld) return `${table} ${JSON.stringify(before)}`;
    }
  }
  return undefined;
}
