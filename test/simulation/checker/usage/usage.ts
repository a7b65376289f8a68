import { isDeepStrictEqual } from "node:util";
import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { HomeModel } from "../home-model.ts";
import type { Model } from "../model.ts";
import { NONCE_SECONDS } from "../periods.ts";
import type { Violate } from "../violate.ts";
import { type Cause, causesOf, expiredIn, netOf, wrongGone } from "./causes.ts";
import { Copies } from "./copies.ts";
import { isCount, isCountedByRow, type Sums } from "./count-rows.ts";
import { Ledger } from "./ledger.ts";
import { MetricsReads } from "./metrics-reads.ts";

/** The rule that a transaction breaks when it counts something else, by what it had to count. */
const RULES: Record<Cause["kind"], string> = {
  nothing: "counts change only with what they count",
  nonces: "each nonce that expires is counted once, in the transaction that deletes it",
  refusals: "each refused call is counted once, with those that were left out, unless its nonce counts it",
  late: "a row of the journal that comes late is counted when it is written",
  events: "each event is counted once, by its type",
  results: "each result of an attempt is counted once, when it is recorded",
  hours: "hours that become days lose nothing and double nothing",
};

/** How far the clocks of two isolates may be apart, and the runs of the cron job. */
const APART_SECONDS = 60;

/** Whether a change marks that a refused call was done all the same. */
const isMark = ({ table, before, after }: Change): boolean =>
  table === "refusals" &&
  before !== null &&
  after !== null &&
  after.done !== before.done &&
  isDeepStrictEqual({ ...before, done: after.done }, { ...after });

/** docs/operating.md, "Usage" and "Metrics": the counts are those of the calls that were made. */
export class UsageRules {
  readonly metrics: MetricsReads;
  readonly #copies: Copies;
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #count: (what: string) => void;
  readonly #ledgers = new Map<HomeModel, Ledger>();

  /** @param count counts what is counted, for the report */
  constructor(model: Model, violate: Violate, count: (what: string) => void) {
    this.#model = model;
    this.#violate = violate;
    this.#count = count;
    this.metrics = new MetricsReads(model, violate);
    this.#copies = new Copies(model, violate);
  }

  /**
   * Judges what a transaction does to the counts, before the model has it.
   *
   * @returns the other changes, which other rules judge
   */
  checkWritten(name: string, call: Call | undefined, changes: Change[]): Change[] {
    const home = this.#model.home(name);
    const about = call === undefined ? [] : [call.name];
    this.#checkAdded(home, call, changes, about);
    this.#checkMarks(home, call, changes, about);
    this.#checkFold(home, call, changes, about);
    this.#copies.checkWritten(name, changes, about);
    this.#note(home, call, changes);
    const ours = changes.filter((change) => isCount(change.table) || isMark(change));
    for (const change of ours) home.apply(change, "");
    this.#copies.written(name, changes, about);
    this.metrics.changes(changes);
    return changes.filter((change) => !ours.includes(change));
  }

  #checkAdded(home: HomeModel, call: Call | undefined, changes: readonly Change[], about: string[]): void {
    const causes = causesOf(home, call, changes);
    const all = { usage: sumsOf(causes, "usage"), days: sumsOf(causes, "days"), counters: sumsOf(causes, "counters") };
    const { kind } = causes[0] ?? { kind: "nothing" };
    for (const cause of causes) if (cause.usage.size + cause.counters.size > 0) this.#count(`counted: ${cause.kind}`);
    const unclear = causes.reduce((sum, each) => sum + each.unclear, 0);
    const wrong =
      wrongSums(added("usage", changes), all.usage, true) ??
      wrongSums(added("usage_days", changes), all.days, true) ??
      wrongSums(added("counters", changes), all.counters, false, unclear) ??
      wrongNumbers(home, changes);
    if (wrong !== undefined) this.#violate(RULES[kind], `${about} at ${home.name}: ${wrong}`, about);
    const isClosed = call?.settings.closedHomes.includes(home.name) === true;
    const ours = changes.filter((change) => isCount(change.table) || isMark(change));
    const isOurs = ours.length > 0;
    // While its home is closed, a restored directory forgets the metrics of ended sites again.
    const hasCounted = ours.some(({ table, after }) => table !== "site_metrics" || after !== null);
    if (hasCounted && isClosed) this.#violate("a closed home counts nothing", `${about} at ${home.name}`, about);
    const gone = isOurs ? wrongGone(home, call?.role === "cron" ? call.clock : 0, changes) : undefined;
    if (gone !== undefined) this.#violate("counts stay as long as they are kept", `${home.name}: ${gone}`, about);
  }

  /** The refused calls that have a nonce are marked with it, and no others. */
  #checkMarks(home: HomeModel, call: Call | undefined, changes: readonly Change[], about: string[]): void {
    const owners = new Set(expiredIn(home, call, changes).map(({ site_id, owner }) => `${site_id}/${owner}`));
    const marked = changes.filter(isMark).map(({ after }) => String(after?.request_id));
    if (owners.size === 0 && marked.length === 0) return;
    const done = [...home.refusals.values()].filter(
      (row) => owners.has(`${row.site_id}/${row.request_id}`) && isCountedByRow(row) && row.done === null,
    );
    // Rows of before counting began are never counted, and those of earlier calls are.
    const countedTo = Number(home.counts.fold?.refusals_until ?? (call?.clock ?? 0) - NONCE_SECONDS - APART_SECONDS);
    const [due, may] = [done.filter(({ at }) => Number(at) > countedTo), done].map(
      (rows) => new Set(rows.map(({ request_id }) => String(request_id))),
    ) as [Set<string>, Set<string>];
    if (due.size > 0) this.#count("refused call that was done");
    if (marked.every((id) => may.has(id)) && [...due].every((id) => marked.includes(id))) return;
    const what = `${about} at ${home.name} marks ${marked}, expected ${[...due]}`;
    this.#violate("a refused call that was done is marked when its nonce is counted", what, about);
  }

  /** Counting goes forward, and no call comes where all are counted. */
  #checkFold(home: HomeModel, call: Call | undefined, changes: readonly Change[], about: string[]): void {
    const { counts } = home;
    const said = `${about} at ${home.name}`;
    const [moved] = netOf("folds", changes).values();
    const now = moved?.after ?? counts.fold;
    const until = now?.nonces_until ?? null;
    if (moved !== undefined) {
      if (call?.role !== "cron" || moved.after === null) this.#violate(RULES.nothing, said, about);
      for (const column of ["nonces_until", "refusals_until", "copies"]) {
        if (Number(moved.after?.[column] ?? 0) >= Number(moved.before?.[column] ?? 0)) continue;
        this.#violate("counting goes forward only", `${said}: ${JSON.stringify(moved)}`, about);
      }
    }
    if (until === null) return;
    if (Number(now?.refusals_until ?? 0) > Number(until)) {
      const what = `${said}: ${JSON.stringify(now)}`;
      this.#violate("refused calls are counted after the nonces of their time", what, about);
    }
    const touched = changes.some(({ table }) => table === "nonces");
    if (!touched && moved?.after?.nonces_until === moved?.before?.nonces_until) return;
    const gone = new Set(
      changes.flatMap(({ table, before }) => (table === "nonces" && before !== null ? [nonceOf(before)] : [])),
    );
    const come = changes.flatMap(({ table, after }) => (table === "nonces" && after !== null ? [after] : []));
    const stored = moved === undefined ? [] : [...home.claims.values()].filter((row) => !gone.has(nonceOf(row)));
    const early = [...stored, ...come].find(
      ({ expires_at, operation }) => operation !== null && Number(expires_at) - NONCE_SECONDS <= Number(until),
    );
    if (early === undefined) return;
    const what = `${said}: all up to ${until} are counted, but not ${JSON.stringify(early)}`;
    this.#violate("all calls up to complete_until are counted", what, about);
  }

  #note(home: HomeModel, call: Call | undefined, changes: readonly Change[]): void {
    const ledger = this.#ledgers.get(home) ?? new Ledger(home);
    this.#ledgers.set(home, ledger);
    for (const change of changes) ledger.changes(change, call?.role === "cron");
  }

  /** A home was restored, and the model has its rows. */
  restored(name: string): void {
    const home = this.#model.home(name);
    this.#ledgers.set(home, new Ledger(home));
    this.#copies.restored(name);
    this.metrics.restored(name);
  }

  /** At the end, when the cron job has run several times. @param last its last run */
  isPruned(underRestore: ReadonlySet<string>, last: Call | undefined): void {
    if (last === undefined) return;
    const { closedHomes } = last.settings;
    const until = last.clock - NONCE_SECONDS - APART_SECONDS;
    for (const [home, ledger] of this.#ledgers) {
      if (this.#model.homes.get(home.name) !== home) continue;
      const wrong = ledger.wrong();
      if (wrong !== undefined) this.#violate("usage equals the calls that were made", `${home.name}: ${wrong}`, []);
      if (underRestore.has(home.name) || closedHomes.includes(home.name)) continue;
      const left = leftUncounted(home, until);
      if (left !== undefined) this.#violate("in the end all is counted", `${home.name}: ${left}`, []);
      const uncopied = underRestore.has("main") || closedHomes.includes("main") ? undefined : this.#copies.left(home);
      if (uncopied !== undefined) {
        this.#violate("in the end the directory knows what each home has counted", uncopied, []);
      }
    }
  }
}

const nonceOf = ({ site_id, appid, ranstr }: Row): string => JSON.stringify([site_id, appid, ranstr]);

/** What is not counted although the cron job had time. @param until up to when it had, in Unix seconds */
function leftUncounted({ counts, refusals, outbox, sites, deletions }: HomeModel, until: number): string | undefined {
  const isThere = ({ site_id }: Row) => sites.has(Number(site_id)) && !deletions.has(Number(site_id));
  const row = [...refusals.values()].find(
    (each) => isThere(each) && Number(each.at) <= until && Number(each.at) > (counts.refusalsUntil ?? 0),
  );
  if (row !== undefined) return `${JSON.stringify(row)} is after ${counts.refusalsUntil}`;
  const seqOf = ({ site_id }: Row) => Number(counts.of("counted_events").get(JSON.stringify([site_id]))?.seq ?? 0);
  const event = [...outbox.events.values()].find((each) => isThere(each) && Number(each.seq) > seqOf(each));
  return event && `${JSON.stringify(event)} is after ${seqOf(event)}`;
}

function sumsOf(causes: readonly Cause[], name: "usage" | "days" | "counters"): Sums {
  const sums: Sums = new Map();
  for (const cause of causes) {
    for (const [key, { count, lastAt }] of cause[name]) {
      const known = sums.get(key);
      sums.set(key, { count: (known?.count ?? 0) + count, lastAt: Math.max(known?.lastAt ?? 0, lastAt) });
    }
  }
  return sums;
}

interface Added {
  count: number;
  before: Row | null;
  after: Row;
}

/** What a transaction has added to a table of counts. */
function added(table: "usage" | "usage_days" | "counters", changes: readonly Change[]): Map<string, Added> {
  return new Map(
    [...netOf(table, changes)].flatMap(([key, { before, after }]) =>
      after === null
        ? []
        : [[key, { count: Number(after.count) - Number(before?.count ?? 0), before, after }] as const],
    ),
  );
}

/** @param unclear how many more may be added to failed attempts */
function wrongSums(actual: Map<string, Added>, expected: Sums, isTimed: boolean, unclear = 0): string | undefined {
  let left = unclear;
  for (const [key, { count, before, after }] of actual) {
    const more = count - (expected.get(key)?.count ?? 0);
    const isExcused = key.includes('"attempts"') && more > 0 && more <= left;
    if (isExcused) left -= more;
    else if (more !== 0) return `${key} rises by ${count}, expected ${expected.get(key)?.count ?? 0}`;
    const lastAt = Math.max(Number(before?.last_at ?? 0), expected.get(key)?.lastAt ?? 0);
    if (isTimed && after.last_at !== lastAt) return `${key} has last_at ${after.last_at}, expected ${lastAt}`;
  }
  for (const [key, { count }] of expected) if (!actual.has(key)) return `${key} must rise by ${count}`;
  return undefined;
}

/** A counter says in which copy it last rose: the next copy must have it. */
function wrongNumbers({ counts }: HomeModel, changes: readonly Change[]): string | undefined {
  const copies = Number(counts.fold?.copies ?? 0);
  const next = Number(changes.findLast(({ table }) => table === "folds")?.after?.copies ?? 0);
  // A restored home that finds a higher number in the directory gives all its counters once more.
  const isCopiedAgain = (rose: unknown) => next - 1 > copies && rose === next - 1;
  for (const [key, { after }] of added("counters", changes)) {
    if (after.name !== "attempts" && after.rose_in !== copies && !isCopiedAgain(after.rose_in))
      return `${key} rose in ${after.rose_in}, not in ${copies}`;
  }
  return undefined;
}
