import { isDeepStrictEqual } from "node:util";
import type { Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Model } from "../model.ts";

/** `GET /audit`: docs/operating.md, "The audit log" and "Lists". Each home is read at another moment. */

interface Entry {
  home: string;
  id: number;
  at: number;
}

/** For each home, the id below which a page begins. */
type Place = ReadonlyMap<string, number>;

const FIRST: Place = new Map();
/** The largest difference between the clocks of two isolates. */
const SKEW_SECONDS = 20;

const WORKER = { kind: "worker", id: "worker", name: "worker" };

/** A row as the list shows it. */
function shownOf({ who_kind: kind, who_id: id, who_name: name, details, ...row }: Row): object {
  const who = row.actor === "worker" ? WORKER : kind && { kind, id, name };
  return { ...row, who, details: JSON.parse(String(details)) };
}

export class AuditReads {
  readonly #model: Model;
  /** The newest row of each home when a call arrived. */
  readonly #newest = new Map<Call, Map<string, number>>();
  /** The place that each cursor stands for, of all cursors answered so far. */
  readonly #places = new Map<string, Place>();

  constructor(model: Model) {
    this.#model = model;
  }

  arrives(call: Call): void {
    const newest = [...this.#model.homes].map(([name, { audit }]) => [name, Math.max(0, ...audit.keys())] as const);
    this.#newest.set(call, new Map(newest));
  }

  ends(call: Call): void {
    this.#newest.delete(call);
  }

  /** @returns why an answer is not a page of the log; undefined for a right one */
  wrong(call: Call, query: URLSearchParams): string | undefined {
    const newest = this.#newest.get(call);
    this.#newest.delete(call);
    const cursor = query.get("cursor");
    const place = cursor === null ? FIRST : this.#places.get(cursor);
    const site = query.get("site_id");
    const siteHome = this.#model.directory.get(Number(site))?.home;
    if (newest === undefined || place === undefined) return undefined;
    if (site !== null && siteHome === undefined)
      return call.answer?.status === 404 ? undefined : "there is no such site";
    if (call.answer?.status !== 200) return call.faults.length > 0 ? undefined : "nothing is wrong with the call";
    const page = JSON.parse(call.answer.body) as { items: Entry[]; next_cursor: string | null; homes_down: string[] };
    if (page.homes_down.length > 0 && call.faults.length === 0) return "every home answers";
    const homes = [...newest.keys()].filter((home) => site === null || home === "main" || home === siteHome);
    const isShown = ({ site_id }: Row) => site === null || site_id === Number(site);
    const ends = new Map(place);
    for (const { home, id } of page.items) ends.set(home, id);
    for (const { home, id, ...item } of page.items) {
      const row = this.#model.homes.get(home)?.audit.get(id);
      const isSame = row !== undefined && isDeepStrictEqual({ id, ...item }, shownOf(row));
      if (!homes.includes(home) || !isSame || !isShown(row))
        return `${home} ${id} is not in the log, or not as it is shown`;
    }
    const last = page.items.at(-1);
    for (const home of homes) {
      if (page.homes_down.includes(home)) continue;
      const shown = page.items.filter((item) => item.home === home).map(({ id }) => id);
      const end = page.next_cursor === null ? 1 : (ends.get(home) ?? Number.POSITIVE_INFINITY);
      const rows = [...(this.#model.homes.get(home)?.audit.entries() ?? [])].filter(([, row]) => isShown(row));
      const below = rows.filter(([id]) => id < (place.get(home) ?? Number.POSITIVE_INFINITY));
      const known = below.filter(([id]) => id >= end && id <= Math.max(newest.get(home) ?? 0, ...shown));
      const expected = known.map(([id]) => id).sort((a, b) => b - a);
      if (!isDeepStrictEqual(shown, expected)) return `of ${home} it shows ${shown}, expected ${expected}`;
      const isLeft = ([id, { at }]: [number, Row]) =>
        id < end && id <= (newest.get(home) ?? 0) && Number(at) > (last?.at ?? 0) + SKEW_SECONDS;
      if (page.next_cursor !== null && below.some(isLeft)) return `a newer one of ${home} is left for another page`;
    }
    // The rows of one home are in the order of their ids: a change that committed late stands behind newer ones.
    const isAscending = page.items.some(({ home, at }, i) => {
      const before = page.items[i - 1];
      return before !== undefined && before.home !== home && at > before.at + SKEW_SECONDS;
    });
    if (isAscending) return "the newest do not come first";
    if (page.next_cursor === null) return undefined;
    this.#places.set(page.next_cursor, ends);
    return page.items.length === Number(query.get("limit") ?? 20)
      ? undefined
      : "a page that is not the last is not full";
  }
}
