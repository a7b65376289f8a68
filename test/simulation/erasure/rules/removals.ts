import type { HomeModel } from "../../checker/home-model.ts";
import type { Model } from "../../checker/model.ts";
import type { BrokenRule, Violate } from "../../checker/violate.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { goneOf } from "./erased-rows.ts";
import { isEnding, isLeftOfErased, isOld, wrongLeftOfErased, wrongSessions } from "./old-sessions.ts";
import { isStopped, whyUnkept } from "./site-ends.ts";

/**
 * The cron job deletes sessions that are too old, and sites that end: docs/operating/data-and-restore.md, "How long
 * sessions are kept" and "Deleting a site".
 */

/** Tables of which the cron job deletes rows only when a session is too old or a site ends. */
const PRUNED_TABLES = [
  "home_sites",
  "apps",
  "agents",
  "customers",
  "sessions",
  "participants",
  "messages",
  "site_deletions",
  "sites",
  "app_routes",
];

const ONLY_ENDED = "only a site whose end is known elsewhere loses its rows";

/** How long the appids of an ended site stay taken. */
const APPIDS_KEPT_SECONDS = 31 * 86_400;

/** Which row of a site a home still has, besides the row of the site itself. */
function leftOf({ outbox, ...home }: HomeModel, siteId: number): string | undefined {
  const rows = {
    deliveries: outbox.deliveries,
    events: outbox.events,
    webhooks: outbox.webhooks,
    nonces: home.claims,
    customers: home.customers,
    agents: home.agents,
    sessions: new Map([...home.sessions].map(([name, { row }]) => [name, row])),
    apps: new Map([...home.apps].map(([name, { row }]) => [name, row])),
  };
  for (const [table, all] of Object.entries(rows)) {
    const rowLeft = [...all.values()].find(({ site_id }) => site_id === siteId);
    if (rowLeft !== undefined) return `a row of ${table} is left: ${JSON.stringify(rowLeft)}`;
  }
  return undefined;
}

const rowOf = ({ before, after }: RowChange): Row => (after ?? before) as Row;

export class Removals {
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #count: (what: string) => void;
  /** The last run of the cron job. */
  last: Call | undefined;

  /** @param count counts deletions, for the report */
  constructor(model: Model, violate: Violate, count: (what: string) => void) {
    this.#model = model;
    this.#violate = violate;
    this.#count = count;
  }

  arrives(call: Call): void {
    this.last = call;
  }

  /**
   * Checks a whole transaction of the cron job, before the model applies it.
   *
   * @returns whether it is about old sessions or a site that ends; other rules check all other transactions
   */
  checkWritten(name: string, call: Call, changes: readonly RowChange[]): boolean {
    const home = this.#model.home(name);
    // One transaction may delete expired rows of several sites.
    const siteId = rowOf(changes[0] as RowChange).site_id;
    const isOfEnd = (change: RowChange) =>
      change.after === null && rowOf(change).site_id === siteId && isEnding(home, Number(siteId));
    const isOurs = changes.some(({ table }) => PRUNED_TABLES.includes(table)) || changes.every(isOfEnd);
    if (!isOurs && !isLeftOfErased(home, call, changes)) return false;
    const wrong = this.#wrong(home, call, changes);
    if (wrong !== undefined) this.#violate(wrong[0], `${call.name} at ${name}: ${wrong[1]}`, [call.name]);
    this.#model.noteGone(name, changes);
    const [first] = goneOf(changes, "sessions");
    if (first !== undefined) {
      this.#count(isEnding(home, Number(first.site_id)) ? "sessions go with their site" : "old sessions go");
    }
    return true;
  }

  #wrong(home: HomeModel, call: Call, changes: readonly RowChange[]): BrokenRule {
    if (call.settings.closedHomes.includes(home.name)) return ["a closed home is not written to", ""];
    const has = (table: string) => changes.some((each) => each.table === table);
    if (has("sites") || has("site_deletions") || has("app_routes")) return this.#wrongDirectory(home, call, changes);
    const siteId = Number(rowOf(changes[0] as RowChange).site_id);
    const another = changes.find((each) => rowOf(each).site_id !== siteId);
    if (another !== undefined)
      return [
        "a transaction that deletes rows of a site touches no other site",
        `site ${siteId} and ${JSON.stringify(another)}`,
      ];
    if (goneOf(changes, "home_sites").length > 0) return wrongLast(home, siteId, changes);
    if (has("sessions")) return wrongSessions(home, siteId, call, changes);
    const keptRow = changes.find(({ after }) => after !== null);
    if (isEnding(home, siteId) && keptRow === undefined) return undefined;
    if (isLeftOfErased(home, call, changes)) return wrongLeftOfErased(home, siteId, changes);
    return [ONLY_ENDED, `${siteId}: ${JSON.stringify(keptRow ?? changes[0])}`];
  }

  /** Checks a transaction that notes the end of a site, or frees its appids. */
  #wrongDirectory(home: HomeModel, call: Call, changes: readonly RowChange[]): BrokenRule {
    const rule = "a site has ended when nothing is left of it, and then the directory knows";
    const removal = changes.find(({ table, after }) => after === null && (table === "sites" || table === "app_routes"));
    if (removal !== undefined) {
      const siteId = Number(removal.table === "sites" ? removal.before?.id : removal.before?.site_id);
      const doneAt = home.deletions.get(siteId)?.done_at ?? null;
      if (doneAt !== null && Number(doneAt) + APPIDS_KEPT_SECONDS <= call.clock) return undefined;
      return ["an appid stays taken for 31 days after its site has ended", JSON.stringify(removal.before)];
    }
    if (changes.some(isKeeping)) return wrongStop(this.#model, home, changes);
    for (const change of changes) {
      const row = rowOf(change);
      const siteId = Number(change.table === "sites" ? row.id : row.site_id);
      const at = this.#model.directory.get(siteId)?.home ?? String(row.home);
      const rowsLeft = leftOf(this.#model.home(at), siteId);
      if (this.#model.home(at).sites.has(siteId)) return [rule, `${at} has site ${siteId}`];
      if (rowsLeft !== undefined) return [rule, `${at}: ${rowsLeft}`];
      const isUntold = home.name !== "main" && this.#model.directory.get(siteId)?.status !== "deleted";
      if (isUntold && this.#model.directory.has(siteId)) return [rule, `the directory does not know of ${siteId}`];
    }
    return undefined;
  }

  /** Checks at the end, when the cron job has run several times without a fault, that nothing too old is left. */
  isPruned(underRestore: ReadonlySet<string>): void {
    const { settings, clock } = this.last ?? {};
    if (settings === undefined || clock === undefined) return;
    const isServed = (home: string) => !settings.closedHomes.includes(home) && !underRestore.has(home);
    for (const home of this.#model.homes.values()) {
      if (!isServed(home.name)) continue;
      const old = [...home.sessions.values()].find(({ row }) => isOld(home, row, clock));
      if (old !== undefined) {
        this.#violate("no session stays longer than its site keeps it", `${home.name}: ${JSON.stringify(old.row)}`, []);
      }
      if (!isServed("main")) continue;
      const isUnderWay = (row: Row) => row.home === home.name && row.kept_at !== null && row.done_at === null;
      const ends = [...home.deletions.values()].find(isUnderWay);
      if (ends !== undefined)
        this.#violate("a site that ends loses all of its rows", `${home.name}: ${JSON.stringify(ends)}`, []);
    }
  }
}

/** Whether a home notes that the directory and KV know of a site's end, perhaps for a second time. */
const isKeeping = ({ table, before, after }: RowChange): boolean =>
  table === "site_deletions" && before !== null && after !== null && after.kept_at !== null && after.done_at === null;

/** Checks a transaction that continues an interrupted end of a site: it deletes apps and webhooks. */
function wrongStop(model: Model, home: HomeModel, changes: readonly RowChange[]): BrokenRule {
  const siteId = Number(rowOf(changes[0] as RowChange).site_id);
  const reason = whyUnkept(model, home.name, siteId, String(home.deletions.get(siteId)?.id));
  if (reason !== undefined) return [ONLY_ENDED, `${reason}: site ${siteId} of ${home.name}`];
  const other = changes.find(
    (change) => !["site_deletions", "home_sites"].includes(change.table) && !isStopped(change),
  );
  return other && [ONLY_ENDED, JSON.stringify(other)];
}

/** Checks the deletion of the site's own row. */
function wrongLast(home: HomeModel, siteId: number, changes: readonly RowChange[]): BrokenRule {
  const rule = "the row of a site is deleted last, with a row in the audit log";
  if (!isEnding(home, siteId)) return [rule, `site ${siteId} does not end`];
  const rowsLeft = leftOf(home, siteId);
  if (rowsLeft !== undefined) return [rule, rowsLeft];
  const other = changes.find(({ table, after }) => table !== "home_sites" && after?.action !== "site.deleted");
  return changes.length === 2 && other === undefined ? undefined : [rule, JSON.stringify(other ?? "no audit row")];
}
