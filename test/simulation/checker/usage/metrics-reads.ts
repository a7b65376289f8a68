import { isDeepStrictEqual } from "node:util";
import { MODELS } from "../../operations/index.ts";
import type { Change } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Model } from "../model.ts";
import type { Violate } from "../violate.ts";
import { read } from "./copies.ts";
import { readOpenMetrics, type Series } from "./openmetrics.ts";

const TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** Counters that stand for calls that were done. */
const DONE = ["ok", "repeated"];

/** Texts of people and of their customers: names, messages, keys and addresses begin so in the simulation. */
const OF_PEOPLE =
  /Customer |customer_\d|Order |order-|Agent |Site |imported-|simulated-admin|whsec_|https?:|tok_|[0-9a-f]{64}/;

/** A scrape without an answer yet. */
interface Scrape {
  /** What it may show: the counters of each moment since it came. */
  known: Series[];
  /** What earlier scrapes have shown when it came. */
  shown: Series;
  /** Whether a restore has lowered counters since it came. */
  disturbed: boolean;
}

/** `GET /metrics`: docs/operating.md, "Metrics". */
export class MetricsReads {
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #open = new Map<Call, Scrape>();
  /** The highest value that was shown of each series. */
  readonly #shown: Series = new Map();
  /** Homes that were restored since their last copy. */
  readonly #restored = new Set<string>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  arrives(call: Call): void {
    if (!isScrape(call)) return;
    this.#open.set(call, { known: [this.#now(call)], shown: new Map(this.#shown), disturbed: false });
  }

  ends(call: Call): void {
    this.#open.delete(call);
  }

  /** The model has the changes. */
  changes(changes: readonly Change[]): void {
    const copied = changes.filter(({ table }) => table === "home_metrics" || table === "site_metrics");
    if (copied.length === 0) return;
    for (const { after } of copied) if (this.#restored.delete(String(after?.home))) this.#forget();
    for (const [call, { known }] of this.#open) known.push(this.#now(call));
  }

  /** A restored home has counted less than it had, and the directory learns it with the next copy. */
  restored(home: string): void {
    this.#restored.add(home);
    if (home === "main") this.#forget();
  }

  #forget(): void {
    this.#shown.clear();
    for (const [call, scrape] of this.#open) {
      scrape.disturbed = true;
      scrape.known.push(this.#now(call));
    }
  }

  checkAnswer(call: Call): void {
    const scrape = this.#open.get(call);
    this.#open.delete(call);
    const { answer, name } = call;
    if (scrape === undefined || answer?.status !== 200) return;
    const series = this.#parse(call);
    if (series === undefined) return;
    const found = OF_PEOPLE.exec(answer.body)?.[0];
    if (found !== undefined) {
      this.#violate("no text of a person is in the metrics", `${name} was told ${found} in ${answer.body}`, [name]);
    }
    // Series that have counted nothing are there from the beginning.
    const counters = new Map([...series].filter(([key, value]) => key.includes("_total{") && value > 0));
    if (!scrape.known.some((each) => isDeepStrictEqual(each, counters))) {
      const what = `${name} was told ${said(counters)}, expected ${scrape.known.map(said).join(" or ")}`;
      this.#violate("the metrics show what the directory has", what, [name]);
    }
    const silent = [...this.#model.homes.keys()].find(
      (home) => !series.has(`agent_session_home_silence_seconds{home="${home}"}`),
    );
    if (silent !== undefined) {
      this.#violate("the metrics show each home, also one that is silent", `${name} is not told of ${silent}`, [name]);
    }
    if (scrape.disturbed) return;
    for (const [key, shown] of scrape.shown) {
      const value = counters.get(key) ?? 0;
      // What is of one site goes with it, and each kind of scrape leaves out what the other one shows.
      if (value >= shown || (value === 0 && !key.includes("_attempts_"))) continue;
      this.#violate("counters never fall without a restore", `${name}: ${key} is ${value} and was ${shown}`, [name]);
    }
    for (const [key, value] of counters) this.#shown.set(key, Math.max(value, this.#shown.get(key) ?? 0));
  }

  #parse({ name, answer }: Call): Series | undefined {
    try {
      if (answer?.headers.get("content-type") !== TYPE) throw new Error(`it is ${answer?.headers.get("content-type")}`);
      return readOpenMetrics(answer.body);
    } catch (error) {
      this.#violate("the metrics are OpenMetrics", `${name}: ${String(error)}: ${answer?.body}`, [name]);
      return undefined;
    }
  }

  /** The counters that the directory has at this moment. */
  #now(call: Call): Series {
    const bySite = new URL(call.wire.path, "https://worker.example").searchParams.get("by") === "site";
    const { counts } = this.#model.home("main");
    const series: Series = new Map();
    const add = (metric: string, labels: Record<string, unknown>, count: number) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${String(text)}"`);
      const key = `agent_session_${metric}_total{${pairs.sort().join(",")}}`;
      series.set(key, (series.get(key) ?? 0) + count);
    };
    const addAll = (json: unknown, site: object, are: (name: string) => boolean) => {
      for (const [key, count] of Object.entries(read(json))) {
        const [name, app, kind, outcome] = JSON.parse(key) as [string, string, string, string];
        if (!are(name)) continue;
        const ofApp = { ...site, ...("site" in site && { app }) };
        const said = outcome === "accepted" ? "ok" : outcome;
        const isDone = DONE.includes(said);
        if (name === "calls")
          add("calls", { ...ofApp, operation: wireNameOf(kind), outcome: isDone ? said : "refused" }, count);
        if (name === "calls" && !isDone) add("refusals", { ...ofApp, reason: said }, count);
        if (name === "events") add("events", { ...site, type: kind }, count);
        if (name === "attempts") add("delivery_attempts", { outcome }, count);
      }
    };
    for (const { counters } of counts.of("home_metrics").values()) {
      addAll(counters, {}, (name) => name === "attempts" || !bySite);
    }
    for (const { site_id, counters } of bySite ? counts.of("site_metrics").values() : []) {
      addAll(counters, { site: site_id }, () => true);
    }
    return series;
  }
}

const isScrape = ({ wire }: Call): boolean => wire.method === "GET" && /^\/admin\/metrics(\?|$)/.test(wire.path);

const wireNameOf = (operation: string): string => MODELS.find(({ name }) => name === operation)?.wireName ?? operation;

const said = (series: Series): string => JSON.stringify(Object.fromEntries(series));
