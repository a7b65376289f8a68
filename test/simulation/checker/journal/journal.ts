import { modelAt } from "../../operations/index.ts";
import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Model } from "../model.ts";
import { read } from "../signed/contract.ts";
import type { Violate } from "../violate.ts";
import { callersTexts } from "./callers-texts.ts";
import { Pace } from "./pace.ts";
import { type Counted, type Served, type Stream, wrongStream } from "./streams.ts";
import { type Refused, wrongRow } from "./wrong-row.ts";

/** The fields of a request's record in the log: docs/operating.md, "Logs". */
interface Logged {
  request_id?: string;
  status: number;
  appid?: string;
  home?: string;
  outcome: string;
  reason?: string;
  detail?: string;
}

/** How many rows an app may leave in an isolate: `burst` at once, and then one in `milliseconds`. */
const ALLOWANCES = {
  verified: { burst: 20, milliseconds: 1_000 },
  unverified: { burst: 1, milliseconds: 60_000 },
};

/** The end of a run. */
export interface TheEnd {
  /** Messages that the queue of the journal still has. */
  left: readonly unknown[];
  /** The isolates that are alive. */
  isolates: ReadonlySet<string>;
}

/** docs/operating.md, "Refused calls": what the journal must have, may have and must not have. */
export class Journal {
  readonly pace: Pace;
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #count: (what: string) => void;
  /** The refused calls that name an app, by request id, in the order of the log. */
  readonly #refused = new Map<string, Refused>();
  readonly #served: Served[] = [];
  /** Each row that was ever stored, with its refused call. */
  readonly #rows = new Map<string, { row: Row; refused: Refused }>();
  /** Rows in messages that the queue has lost. */
  readonly #lost = new Map<string, Counted>();
  readonly #cutOff = new Map<string, number>();
  /** Apps whose credentials may name another home or site. */
  readonly #misled = new Set<string>();

  /** @param count counts the rows, for the report */
  constructor(model: Model, violate: Violate, count: (what: string) => void) {
    this.#model = model;
    this.#violate = violate;
    this.#count = count;
    this.pace = new Pace(violate);
  }

  /** A call has written its record into the log. @param now milliseconds of virtual time */
  logs(call: Call, record: Logged, now: number): void {
    const { request_id: requestId, appid, home, outcome, reason, detail, status } = record;
    const operation = modelAt(call.wire.path);
    const isolate = call.isolate?.name;
    if (requestId === undefined || operation === undefined || isolate === undefined) return;
    if (call.wire.method !== "POST" || !("JOURNAL" in (call.isolate?.env ?? {}))) return;
    const said = JSON.stringify({ ...record, request_id: "", appid: "" });
    for (const text of callersTexts(call.wire)) {
      if (!said.includes(text)) continue;
      this.#violate("the log holds no text of a caller", `${call.name} ${text}: ${said}`, [call.name]);
    }
    if (appid !== undefined) {
      this.#served.push({ isolate, at: now });
      const app = this.#model.listedApp(appid);
      const isElsewhere = home !== undefined && !this.#model.homes.get(home)?.apps.has(`${app?.siteId}/${appid}`);
      if (isElsewhere) this.#misled.add(appid);
    }
    const reading = read(call.wire);
    if (outcome !== "refused" || reason === undefined || typeof reading === "number") return;
    this.#refused.set(requestId, {
      call,
      isolate,
      at: now,
      requestId,
      appid: reading.appid,
      operation: operation.name,
      reason,
      detail,
      status,
      isKnown: appid !== undefined,
    });
  }

  /** The Worker has answered a signed call. */
  checkAnswer({ name, trips, answeredAt = 0 }: Call): void {
    const trip = trips.find(({ to }) => to.startsWith("JOURNAL "));
    if (trip === undefined || trip.at >= answeredAt) return;
    this.#violate("no answer waits for the journal", `${name} asked ${trip.to} before`, [name]);
  }

  /** The consumer has changed rows. The model does not have them yet. */
  checkWritten(home: string, call: Call, changes: readonly Change[]): void {
    this.pace.writes(home, call);
    for (const { table, before, after } of changes) {
      const requestId = String(after?.request_id);
      const what = `${call.name} at ${home}: ${JSON.stringify(after ?? before)}`;
      const about = [call.name, requestId];
      const isInserted = table === "refusals" && before === null && after !== null;
      if (!isInserted) {
        this.#violate("the journal's consumer inserts refused calls and changes nothing", what, about);
        return;
      }
      const refused = this.#refused.get(requestId);
      if (refused === undefined) {
        this.#violate("the journal has refused calls of known apps only", what, about);
        return;
      }
      const wrong = wrongRow(this.#model, home, after, refused);
      if (wrong !== undefined) {
        this.#violate("a row of the journal says what the call was answered", `${what}: ${wrong}`, about);
      }
      const other = [...this.#model.homes.values()].find(({ refusals }) => refusals.has(requestId));
      if (other !== undefined) {
        this.#violate("a refused call has one row", `${what}, and one in ${other.name}`, about);
      }
      const said = JSON.stringify([after.detail, after.reason, after.client]);
      const text = [...callersTexts(refused.call.wire)].find((each) => said.includes(each));
      if (text !== undefined) this.#violate("the journal holds no text of a caller", `${what}: ${text}`, about);
      this.#rows.set(requestId, { row: after, refused });
      this.#count(`refused call in the journal${Number(after.skipped) > 0 ? ", with some that were left out" : ""}`);
    }
  }

  /** A call was cut off, or its isolate died. @param now milliseconds of virtual time */
  ends(call: Call, now: number): void {
    this.pace.ends(call);
    const { isolate } = call;
    if (isolate !== undefined) this.#cutOff.set(isolate.name, now);
  }

  /** The queue will never give this message. */
  loses(message: unknown): void {
    for (const { requestId, skipped } of rowsOf(message)) this.#lost.set(requestId, { skipped });
  }

  /** An attacker has written an app's record into KV. */
  tampered(appid: string): void {
    this.#misled.add(appid);
  }

  runEnds({ left, isolates }: TheEnd): void {
    this.#checkRates();
    this.pace.runEnds(this.#model.homes.size);
    const rows = new Map(this.#lost);
    for (const message of left) for (const { requestId, skipped } of rowsOf(message)) rows.set(requestId, { skipped });
    for (const [requestId, { row }] of this.#rows) rows.set(requestId, { skipped: Number(row.skipped) });
    for (const streams of this.#streamsByApp()) {
      for (const stream of streams) {
        const [{ isolate, appid, reason, operation }] = stream as [Refused];
        const kinds = streams.length;
        const ends = { model: this.#model, isolates, cutOff: this.#cutOff, served: this.#served, kinds };
        const wrong = wrongStream(stream, rows, ends);
        if (wrong === undefined) continue;
        const what = `${operation} ${reason} of ${appid} in ${isolate}: ${wrong}`;
        this.#violate("each refused call of a known app is a row or counted in one", what, [appid]);
      }
    }
  }

  /** The streams of each app in each isolate, without those that a restore or an attacker may have disturbed. */
  #streamsByApp(): Stream[][] {
    const all = [...this.#refused.values()].filter(
      ({ appid, isKnown, reason }) => (isKnown || this.#mayBeKnown(appid, reason)) && this.#isUndisturbed(appid),
    );
    const byApp = Map.groupBy(all, ({ isolate, appid }) => `${isolate} ${appid}`);
    return [...byApp.values()].map((refused) => [
      ...Map.groupBy(refused, ({ operation, reason }) => `${operation} ${reason}`).values(),
    ]);
  }

  /** The log does not name an app whose credentials were read without an answer of its home. */
  #mayBeKnown(appid: string, reason: string): boolean {
    return this.#model.siteOf(appid) !== undefined && /^(d1_|home_|master_key|unexpected)/.test(reason);
  }

  /** A restored home has lost rows, and the apps of its callers. The home of a moved app has no app on the row's site. */
  #isUndisturbed(appid: string): boolean {
    if (this.#misled.has(appid) || this.#model.wasMoved(appid)) return false;
    const home = [...this.#model.homes.values()].find(({ apps }) =>
      [...apps.values()].some((app) => app.appid === appid),
    );
    return home !== undefined && !this.#model.restoredAt.has(home.name);
  }

  #checkRates(): void {
    const kindOf = ({ row }: { row: Row }) => (row.secret === null ? "unverified" : "verified");
    const groups = Map.groupBy(this.#rows.values(), (each) => {
      const { isolate, appid } = each.refused;
      return `${kindOf(each)} ${isolate} ${appid}`;
    });
    for (const [name, rows] of groups) {
      const { burst, milliseconds } = ALLOWANCES[kindOf(rows[0] as { row: Row })];
      // The last call of each operation and reason waits for the allowance, so its row may come later than the call.
      const waiting = new Set(rows.map(({ row }) => `${row.operation} ${row.reason}`)).size;
      let [used, since] = [0, 0];
      for (const { at } of rows.map(({ refused }) => refused).sort((a, b) => a.at - b.at)) {
        used = Math.max(0, used - (at - since) / milliseconds) + 1;
        since = at;
        if (used <= burst + waiting) continue;
        const what = `${name}: ${rows.length} rows, ${Math.ceil(used)} at once`;
        this.#violate("an app leaves no more rows in an isolate than it may", what, [rows[0]?.refused.appid ?? ""]);
        return;
      }
    }
  }
}

/** The rows in a message of the queue. */
const rowsOf = (message: unknown): { requestId: string; skipped: number }[] =>
  (message as { refusals: { requestId: string; skipped: number }[] }).refusals;
