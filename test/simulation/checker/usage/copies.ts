import { isDeepStrictEqual } from "node:util";
import type { Change, Row } from "../../platform/database.ts";
import type { HomeModel } from "../home-model.ts";
import { hasEnded, type Model } from "../model.ts";
import type { Violate } from "../violate.ts";
import { netOf } from "./causes.ts";
import { WHOLE_HOME } from "./count-rows.ts";

type Counters = Record<string, number>;

/** What a home had when it gave a copy its number. */
interface Snapshot {
  whole: Counters;
  sites: Map<number, Counters>;
  gauges: Row;
}

/** The gauges count deliveries up to this. */
const MOST_COUNTED = 10_000;

const DAY = 86_400;
const SIZES_KEPT = 31 * DAY;

/** The directory's copies of what the homes have counted. */
export class Copies {
  readonly #model: Model;
  readonly #violate: Violate;
  /** By home and number. A restore may give a number again. */
  readonly #snapshots = new Map<string, Snapshot[]>();
  /** Sites whose counters a restore has lowered until they rise again. */
  readonly #lowered = new Set<number>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  /** The model does not have the changes yet. */
  checkWritten(name: string, changes: readonly Change[], about: string[]): void {
    const home = this.#model.home(name);
    for (const { before, after } of netOf("folds", changes).values()) {
      if (after === null || after.copies === (before?.copies ?? 0)) continue;
      const key = `${name}/${after.copies}`;
      this.#snapshots.set(key, [...(this.#snapshots.get(key) ?? []), snapshotOf(home, after)]);
    }
    for (const { table, before, after } of changes) {
      if (table !== "home_metrics" && table !== "site_metrics") continue;
      const said = `${about}: ${JSON.stringify(after ?? before)}`;
      if (after === null) {
        const siteId = Number(before?.site_id);
        const isOver = [...this.#model.homes.values()].some(({ deletions }) => deletions.has(siteId));
        if (table === "site_metrics" && isOver) continue;
        this.#violate("the directory forgets no home, and no site before its end", said, about);
      } else if (before !== null && Number(after.copy) <= Number(before.copy)) {
        this.#violate("an older copy changes nothing", `${said}, before ${before.copy}`, about);
      } else {
        const wrong = table === "home_metrics" ? this.#wrongHome(after) : this.#wrongSite(after);
        if (wrong === undefined) continue;
        this.#violate("the directory's copy of a home is what the home had at that copy", `${said}: ${wrong}`, about);
      }
    }
  }

  #wrongHome({ home, at, copy, counters, gauges }: Row): string | undefined {
    const had = this.#snapshots.get(`${home}/${copy}`) ?? [];
    const whole = read(counters);
    const fitting = had.filter((each) => isDeepStrictEqual(each.whole, whole));
    if (fitting.length === 0) return `it had ${had.map((each) => JSON.stringify(each.whole)).join(" or ")}`;
    const { size, pruneLag, sizes, ...said } = JSON.parse(String(gauges)) as Record<string, unknown>;
    if (typeof size !== "number" || size <= 0) return `it has ${size} bytes`;
    const wrongSizes = wrongOf(sizes as [number, number][], Number(at));
    if (wrongSizes !== undefined) return wrongSizes;
    if (pruneLag != null && Number(pruneLag) < 0) return `it is ${pruneLag} s behind`;
    if (fitting.some((each) => isDeepStrictEqual({ ...each.gauges }, said))) return undefined;
    return `its gauges were ${fitting.map((each) => JSON.stringify(each.gauges)).join(" or ")}`;
  }

  #wrongSite({ site_id, copy, counters }: Row): string | undefined {
    const siteId = Number(site_id);
    const site = this.#model.directory.get(siteId);
    if (site === undefined || hasEnded(site)) return "the site has ended";
    this.#lowered.delete(siteId);
    const had = (this.#snapshots.get(`${site.home}/${copy}`) ?? []).map(({ sites }) => sites.get(siteId) ?? {});
    const said = read(counters);
    return had.some((each) => isDeepStrictEqual(each, said)) ? undefined : `it had ${JSON.stringify(had)}`;
  }

  /** The model has the changes: what the directory knows of the sites is whole. */
  written(name: string, changes: readonly Change[], about: string[]): void {
    for (const { table, after } of changes) {
      if (name !== "main" || table !== "home_metrics" || after === null) continue;
      const had = this.#snapshots.get(`${after.home}/${after.copy}`) ?? [];
      const wrong = had.map(({ sites }) => this.#wrongSites(String(after.home), sites));
      if (had.length === 0 || wrong.includes(undefined)) continue;
      this.#violate("a copy has every site whose counters have risen", `${about}: ${wrong[0]}`, about);
    }
  }

  #wrongSites(home: string, sites: Snapshot["sites"]): string | undefined {
    const stored = this.#model.home("main").counts.of("site_metrics");
    for (const [siteId, listed] of this.#model.directory) {
      if (listed.home !== home || !["open", "closed"].includes(listed.status) || this.#lowered.has(siteId)) continue;
      const known = stored.get(JSON.stringify([siteId]));
      const had = sites.get(siteId) ?? {};
      if (!isDeepStrictEqual(known === undefined ? {} : read(known.counters), had)) {
        return `site ${siteId} had ${JSON.stringify(had)}, the directory has ${known?.counters}`;
      }
    }
    return undefined;
  }

  /** What the directory does not know of a home; undefined when it knows all. */
  left(home: HomeModel): string | undefined {
    const known = this.#model
      .home("main")
      .counts.of("home_metrics")
      .get(JSON.stringify([home.name]));
    const { whole } = snapshotOf(home, home.counts.fold ?? {});
    const said = known === undefined ? {} : read(known.counters);
    // Attempts go on after the last copy.
    const without = (counters: Counters) =>
      Object.fromEntries(Object.entries(counters).filter(([name]) => !name.includes('"attempts"')));
    if (isDeepStrictEqual(without(said), without(whole))) return undefined;
    return `${home.name} has ${JSON.stringify(whole)}, the directory ${JSON.stringify(said)}`;
  }

  /** Sites that had no counters at the restore point send none: the directory keeps the old ones until they rise again. */
  restored(home: string): void {
    for (const [siteId, listed] of this.#model.directory) {
      if (listed.home === home || home === "main") this.#lowered.add(siteId);
    }
  }
}

/** What is wrong with the sizes that the directory keeps of a home: they are a day apart, of the last 31 days. */
function wrongOf(sizes: [number, number][], at: number): string | undefined {
  const isWrong = sizes.some(([when, bytes], i) => {
    const before = sizes[i - 1]?.[0] ?? at - SIZES_KEPT - DAY;
    return bytes <= 0 || when < before + DAY || when > at;
  });
  return isWrong ? `it keeps the sizes ${JSON.stringify(sizes)}` : undefined;
}

/** The counters in a JSON of the directory, by their keys. */
export function read(json: unknown): Counters {
  const list = JSON.parse(String(json)) as {
    name: string;
    appid: string;
    kind: string;
    outcome: string;
    count: number;
  }[];
  return Object.fromEntries(
    list.map(({ name, appid, kind, outcome, count }) => [JSON.stringify([name, appid, kind, outcome]), count]),
  );
}

function snapshotOf(home: HomeModel, fold: Row): Snapshot {
  const sites = new Map<number, Counters>();
  for (const { site_id, name, appid, kind, outcome, count } of home.counts.of("counters").values()) {
    const of = sites.get(Number(site_id)) ?? {};
    sites.set(Number(site_id), { ...of, [JSON.stringify([name, appid, kind, outcome])]: Number(count) });
  }
  const whole = sites.get(WHOLE_HOME) ?? {};
  sites.delete(WHOLE_HOME);
  return { whole, sites, gauges: gaugesOf(home, fold) };
}

function gaugesOf({ sites, outbox }: HomeModel, fold: Row): Row {
  const those = <Of>(all: Iterable<Of>, is: (each: Of) => boolean) => [...all].filter(is).length;
  const pending = [...outbox.deliveries.values()].filter(({ status }) => status === "pending");
  const webhooks = [...outbox.webhooks.values()];
  return {
    openSites: those(sites.values(), ({ status }) => status === "open"),
    closedSites: those(sites.values(), ({ status }) => status === "closed"),
    pending: Math.min(MOST_COUNTED, pending.length),
    oldestPendingAt: pending.length === 0 ? null : Math.min(...pending.map(({ created_at }) => Number(created_at))),
    failed: those(outbox.deliveries.values(), ({ status }) => status === "failed"),
    failing: those(webhooks, ({ status, failing_since }) => status === "enabled" && failing_since !== null),
    disabled: those(webhooks, ({ status }) => status === "disabled"),
    completeUntil: fold.refusals_until ?? null,
  };
}
