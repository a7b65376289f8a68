import { MODELS } from "../../operations/index.ts";
import type { Change, Row } from "../../platform/database.ts";

/** The tables of usage and metrics, with the columns of their keys. The last two are in the directory. */
const KEYS = {
  usage: ["site_id", "appid", "hour", "operation", "outcome", "secret"],
  usage_days: ["site_id", "appid", "day", "operation", "outcome", "secret"],
  counters: ["site_id", "name", "appid", "kind", "outcome"],
  counted_events: ["site_id"],
  folds: ["id"],
  home_metrics: ["home"],
  site_metrics: ["site_id"],
} satisfies Record<string, string[]>;

export type CountTable = keyof typeof KEYS;

export const COUNT_TABLES = Object.keys(KEYS) as CountTable[];

export const isCount = (table: string): table is CountTable => table in KEYS;

/** In the place of a site: the counter is of the whole home. */
export const WHOLE_HOME = 0;

/** Hours and days of usage as the bundle has them: a day is two hours there. */
export const HOUR = 3_600;
export const DAY = 7_200;
const HOURS_KEPT_DAYS = 1;
const DAYS_KEPT = 30;

/** Where the kept hours begin, in Unix seconds. */
export const hoursKept = (now: number): number => now - (now % DAY) - HOURS_KEPT_DAYS * DAY;

/** Where the kept days begin, in Unix seconds. */
export const daysKept = (now: number): number => now - (now % DAY) - DAYS_KEPT * DAY;

/** The reasons of refused calls whose ranstr is used up: their nonces count them. */
export const NONCE_REASONS: ReadonlySet<string> = new Set([
  "key_reused",
  ...MODELS.flatMap(({ refusals }) => Object.keys(refusals)),
]);

/** The rows of usage and metrics of one database. */
export class CountRows {
  readonly #rows: Record<CountTable, Map<string, Row>> = {
    usage: new Map(),
    usage_days: new Map(),
    counters: new Map(),
    counted_events: new Map(),
    folds: new Map(),
    home_metrics: new Map(),
    site_metrics: new Map(),
  };

  of(table: CountTable): ReadonlyMap<string, Row> {
    return this.#rows[table];
  }

  /** How far counting is. */
  get fold(): Row | undefined {
    return this.#rows.folds.values().next().value;
  }

  /** Up to when refused calls are counted, in Unix seconds; undefined before the first run. */
  get refusalsUntil(): number | undefined {
    const until = this.fold?.refusals_until ?? null;
    return until === null ? undefined : Number(until);
  }

  apply({ table, before, after }: Change): void {
    if (!isCount(table)) return;
    if (before !== null) this.#rows[table].delete(keyOf(table, before));
    if (after !== null) this.#rows[table].set(keyOf(table, after), after);
  }
}

export const keyOf = (table: CountTable, row: Row): string => JSON.stringify(KEYS[table].map((column) => row[column]));

/** Counts with the time of the last of what they count, by the key of their row. */
export type Sums = Map<string, { count: number; lastAt: number }>;

export function addTo(sums: Sums, key: string, count: number, lastAt: number): void {
  const known = sums.get(key);
  sums.set(key, { count: (known?.count ?? 0) + count, lastAt: Math.max(known?.lastAt ?? 0, lastAt) });
}

/** Whether a refused call of the journal is counted by its row. */
export const isCountedByRow = ({ reason }: Row): boolean => !NONCE_REASONS.has(String(reason));

/** How many calls a row of the journal counts. */
export const callsOf = ({ skipped, done }: Row): number => Number(skipped) + (done == null ? 1 : 0);
