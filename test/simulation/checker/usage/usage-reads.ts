import { isDeepStrictEqual } from "node:util";
import { MODELS } from "../../operations/index.ts";
import type { Row } from "../../platform/database.ts";
import type { HomeModel } from "../home-model.ts";
import { DAY, daysKept, hoursKept } from "./count-rows.ts";

/** What `GET /sites/{id}/usage` shows: docs/operating.md, "Usage". */

const BAD = { status: 400 };

/** How many items an answer may have. It is 10,000, and lowered in the simulation. */
const MOST_ITEMS = 30;

const KNOWN: Record<string, RegExp> = {
  by: /^(hour|day)$/,
  since: /^\d{1,11}$/,
  until: /^\d{1,11}$/,
  appid: /^[A-Za-z0-9_-]{1,64}$/,
};

/** Whether a query is refused for itself, whatever is stored. */
export const isMalformedUsage = (query: URLSearchParams): boolean =>
  [...query].some(([name, value]) => KNOWN[name]?.test(value) !== true);

interface Item {
  at: number;
  appid: string;
  operation: string;
  outcome: string;
  count: number;
}

export interface UsageAnswer {
  items: Item[];
  apps: object[];
  complete_until: number | null;
}

/** The answer for what is stored now. @param clock Unix seconds by the isolate that is asked */
export function usageNow(home: HomeModel, siteId: number, query: URLSearchParams, clock: number): object {
  const isByHour = query.get("by") !== "day";
  const kept = isByHour ? hoursKept(clock) : daysKept(clock);
  const [since, until] = ["since", "until"].map((name) => query.get(name));
  const isTooOld = [since, until].some((time) => time != null && Number(time) < kept);
  const isTurnedRound = since != null && until != null && Number(since) > Number(until);
  if (isMalformedUsage(query) || isTooOld || isTurnedRound) return BAD;
  const apps = [...home.apps.values()]
    .filter((app) => app.siteId === siteId && (query.get("appid") ?? app.appid) === app.appid)
    .sort((a, b) => (a.appid < b.appid ? -1 : 1));
  const rows = apps.flatMap(({ appid }) => rowsOf(home, siteId, appid));
  const from = Number(since ?? kept);
  const to = Number(until ?? clock);
  const completeUntil = home.counts.refusalsUntil ?? null;
  const items = itemsOf(isByHour ? rows.filter(({ isHour }) => isHour) : rows, isByHour).filter(
    ({ at }) => at >= from && at <= to,
  );
  if (items.length > MOST_ITEMS) return BAD;
  return {
    items,
    apps: apps.map(({ appid, previousVersion }) => ({
      appid,
      last_used_at: lastOf(rows, appid, (secret) => secret !== ""),
      previous_secret_used_at: lastOf(rows, appid, (secret) => secret === previousVersion),
    })),
    complete_until: completeUntil,
  };
}

interface Counted {
  row: Row;
  /** When the hour or the day begins. */
  at: number;
  isHour: boolean;
}

function rowsOf({ counts }: HomeModel, siteId: number, appid: string): Counted[] {
  const isIts = (row: Row) => row.site_id === siteId && row.appid === appid;
  return [
    ...[...counts.of("usage").values()].filter(isIts).map((row) => ({ row, at: Number(row.hour), isHour: true })),
    ...[...counts.of("usage_days").values()].filter(isIts).map((row) => ({ row, at: Number(row.day), isHour: false })),
  ];
}

function itemsOf(rows: readonly Counted[], isByHour: boolean): Item[] {
  const items = new Map<string, Item>();
  for (const { row, at } of rows) {
    const outcome = row.outcome === "accepted" ? "ok" : String(row.outcome);
    const operation = MODELS.find(({ name }) => name === row.operation)?.wireName ?? String(row.operation);
    const begin = isByHour ? at : at - (at % DAY);
    const key = JSON.stringify([begin, row.appid, row.operation, row.outcome]);
    const item = items.get(key) ?? { at: begin, appid: String(row.appid), operation, outcome, count: 0 };
    items.set(key, { ...item, count: item.count + Number(row.count) });
  }
  return [...items].sort(([a], [b]) => byParts(JSON.parse(a) as Key, JSON.parse(b) as Key)).map(([, item]) => item);
}

type Key = (string | number)[];

function byParts(a: Key, b: Key): number {
  const place = a.findIndex((part, i) => part !== b[i]);
  return place < 0 ? 0 : (a[place] as string) < (b[place] as string) ? -1 : 1;
}

/** When an app was last used with a secret: hours are newer than days. */
function lastOf(rows: readonly Counted[], appid: string, verified: (secret: unknown) => boolean): number | null {
  const its = rows.filter(({ row }) => row.appid === appid && verified(row.secret));
  const hours = its.filter(({ isHour }) => isHour);
  const newest = hours.length > 0 ? hours : its;
  return newest.length === 0 ? null : Math.max(...newest.map(({ row }) => Number(row.last_at)));
}

/** Whether each part of an answer was stored at some moment: the parts are read one beside the other. */
export const isUsageShown = (answered: object, known: readonly object[]): boolean =>
  ["items", "apps", "complete_until"].every((part) =>
    known.some((each) => part in each && isDeepStrictEqual(answered[part as never], shownOf(each, answered)[part])),
  );

/** Nothing is shown of hours and days that begin after the time up to which all is counted. */
function shownOf(known: object, answered: object): Record<string, unknown> {
  const { complete_until } = answered as UsageAnswer;
  const { items, ...others } = known as UsageAnswer;
  return { ...others, items: items.filter(({ at }) => at <= (complete_until ?? -1)) };
}
