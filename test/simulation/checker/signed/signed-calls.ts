import type { Scheduler } from "../../machine/scheduler.ts";
import { openedBy } from "../../operations/shared/model.ts";
import type { Change } from "../../platform/database.ts";
import type { Answer, Call } from "../../world/call.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import { hasEnded, type Model, usedName } from "../model.ts";
import { WHOLE_LIMIT_MS } from "../periods.ts";
import type { Violate } from "../violate.ts";
import { formMismatch, ignoredIn, LIMITED, mismatch, NO_ANSWER } from "./answers.ts";
import { AppLimits } from "./app-limits.ts";
import { ClientLimit } from "./client-limit.ts";
import { isMalformed, read } from "./contract.ts";
import { Costs } from "./costs.ts";
import { Excuses } from "./excuses.ts";
import { Orders } from "./orders.ts";
import { isReadable, wasOnceInForce } from "./signatures.ts";
import { checkWritten } from "./signed-writes.ts";
import { UsedRanstrs } from "./used-ranstrs.ts";
import { isWriting, type Verdict, verdictsOf } from "./verdicts.ts";
import { aboutOf, type ReadableCall, type WatchedCall } from "./watched-call.ts";

/** Milliseconds beside D1's within which a call without faults is answered. All waits for KV and limits are in it. */
const OWN_LIMIT_MS = 1_600;

/** Checks the writes and the answers of signed calls against the contract's verdicts. */
export class SignedCalls {
  readonly costs: Costs;
  readonly excuses: Excuses;
  readonly usedRanstrs: UsedRanstrs;
  readonly orders: Orders;
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #scheduler: Scheduler;
  readonly #count: (what: string) => void;
  readonly #appLimits: AppLimits;
  readonly #clientLimit: ClientLimit;
  readonly #calls = new Map<Call, WatchedCall>();
  /** Calls without an answer yet. */
  readonly #open = new Set<WatchedCall>();

  /** @param count counts the results of calls */
  constructor(model: Model, violate: Violate, scheduler: Scheduler, count: (what: string) => void) {
    this.#count = count;
    this.#model = model;
    this.#violate = violate;
    this.#scheduler = scheduler;
    this.#appLimits = new AppLimits(violate);
    this.#clientLimit = new ClientLimit(violate);
    this.costs = new Costs(violate);
    this.usedRanstrs = new UsedRanstrs(violate);
    this.orders = new Orders(model, violate);
    const rules = { costs: this.costs, appLimits: this.#appLimits, clientLimit: this.#clientLimit };
    this.excuses = new Excuses(model, this.#calls, rules);
  }

  arrives(call: Call): void {
    const reading = read(call.wire);
    const watched: WatchedCall = { call, reading, signedBy: new Map(), possible: new Map(), committed: undefined };
    this.#calls.set(call, watched);
    this.#open.add(watched);
    this.#look(watched);
    if (isReadable(watched)) this.#clientLimit.arrives(call, !this.#model.hasRouted(watched.reading.appid));
    this.#scheduler.after(WHOLE_LIMIT_MS, () => {
      if (call.alive && call.answer === undefined) {
        this.#violate("every call is answered within 9.5 s", `${call.name} has no answer`, [call.name]);
      }
    });
  }

  /** Notes the verdicts that open calls may get at this moment. */
  look(): void {
    for (const watched of this.#open) this.#look(watched);
  }

  /** The meaning of the call's Idempotency-Key; empty when the call cannot be read. */
  fingerprintOf(call: Call): string {
    const watched = this.#calls.get(call);
    return watched !== undefined && isReadable(watched) ? watched.reading.fingerprint : "";
  }

  ends(call: Call): void {
    const watched = this.#calls.get(call);
    if (watched !== undefined) this.#open.delete(watched);
  }

  /** @param home the name of the home that has committed */
  checkWritten(home: string, call: Call, changes: readonly Change[]): void {
    const watched = this.#calls.get(call) as WatchedCall;
    const result = checkWritten(this.#model, this.#violate, home, watched, changes);
    if (result === undefined || !isReadable(watched)) return;
    const { app, verdict } = result;
    const { freshness, operation } = watched.reading;
    const due = changes.some(({ table }) => table === "deliveries");
    const joined = changes.flatMap(({ table, after }) => (table === "participants" ? [after?.agent_id] : []));
    watched.committed = { verdict, at: this.#scheduler.now, due, joined };
    this.#count(`${operation.wireName} ${verdict.kind}${verdict.kind === "refused" ? `: ${verdict.reason}` : ""}`);
    if (freshness !== undefined) this.#model.used.set(usedName(app.appid, freshness.ranstr), call);
    const opened = openedBy(changes);
    if (verdict.kind === "accepted" && opened !== undefined) {
      this.orders.opens(home, app, watched, verdict.sessionId, opened.content);
    }
  }

  checkAnswer(call: Call): void {
    const watched = this.#calls.get(call) as WatchedCall;
    const answer = call.answer as Answer;
    this.#look(watched);
    this.#open.delete(watched);
    const { committed, possible } = watched;
    const candidates =
      committed === undefined ? [...possible.values()].filter((each) => !isWriting(each)) : [committed.verdict];
    const misses = candidates.map((verdict) => mismatch(call, answer, verdict));
    const matched = candidates[misses.indexOf(undefined)];
    if (matched === undefined && !this.excuses.allow(watched, answer)) {
      const expected = JSON.stringify(committed?.verdict ?? [...possible.values()]);
      const why = misses.find((each) => each !== undefined) ?? "";
      this.#violate(
        call.role === "honest"
          ? "an honest request is answered as the contract says"
          : "every request is answered as the contract says",
        `${call.name} was answered ${answer.status} ${answer.body} (${why}), came to ${expected}`,
        aboutOf(watched),
      );
      return;
    }
    if (isReadable(watched)) this.#charge(watched, answer);
    this.#checkNotified(watched, answer);
    if (matched !== undefined) this.#checkIgnored(watched, answer, matched);
    this.#checkTime(watched);
  }

  #look(watched: WatchedCall): void {
    if (watched.committed !== undefined) return;
    for (const verdict of verdictsOf(this.#model, watched)) {
      const name = JSON.stringify(verdict);
      if (!watched.possible.has(name)) watched.possible.set(name, verdict);
    }
  }

  #checkIgnored(watched: WatchedCall, answer: Answer, verdict: Verdict): void {
    const { call } = watched;
    if (verdict.kind !== "accepted") return;
    const said = ignoredIn(answer);
    // After a lost answer, the second try may find other reasons for agents that were left out. Agents that joined must
    // not be named.
    if (call.faults.length > 0) {
      const { joined = [] } = watched.committed ?? {};
      const wrong = said.find((each) => joined.some((id) => each.startsWith(`${id} `)));
      if (wrong === undefined) return;
      this.#violate("x-ignored-agents names no agent that joined", `${call.name} says ${wrong}`, aboutOf(watched));
      return;
    }
    if (JSON.stringify(said) === JSON.stringify(verdict.ignored.toSorted())) return;
    const what = `${call.name} says ${said}, left out were ${verdict.ignored}`;
    this.#violate("x-ignored-agents names the agents that were left out", what, aboutOf(watched));
  }

  /**
   * docs/architecture.md, "Events": the call that has stored due deliveries notifies the queue, and no other call does.
   */
  #checkNotified({ call, committed }: WatchedCall, answer: Answer): void {
    const isNotified = call.trips.some(({ to }) => to.startsWith("EVENTS "));
    const isDue = committed?.due === true;
    // A second try does not see what the first one stored, so the sweep delivers it.
    const isExcused = isDue && (call.faults.length > 0 || formMismatch(call, answer, NO_ANSWER) === undefined);
    if (isNotified === isDue || isExcused) return;
    const what = `${call.name} ${isDue ? "told it nothing" : "told it something"}`;
    this.#violate("a call notifies the queue when it has stored due deliveries, and only then", what, [call.name]);
  }

  #checkTime(watched: WatchedCall): void {
    const { call } = watched;
    const took = (call.answeredAt ?? 0) - (call.arrivedAt ?? 0);
    if (call.faults.length > 0 || took <= call.d1Ms + OWN_LIMIT_MS || this.excuses.waitsForOthers(watched)) return;
    // The isolate waits for KV when its keys do not open D1's row: KV may still have a record that opens.
    if ([...watched.possible.values()].some(({ kind }) => kind === "seal_unknown")) return;
    // The calls of a surge with one ranstr try one after the other, when the app is gone that the isolate knew.
    const siteId = isReadable(watched) ? this.#model.routes.get(watched.reading.appid) : undefined;
    if (siteId !== undefined && hasEnded(this.#model.directory.get(siteId))) return;
    const what = `${call.name} took ${Math.round(took)} ms, of which D1 ${Math.round(call.d1Ms)} ms`;
    this.#violate("KV and limits delay no request", what, aboutOf(watched));
  }

  /** Counts an answered call for the limits and checks its cost. */
  #charge(watched: ReadableCall, answer: Answer): void {
    const { call, committed, reading } = watched;
    const { appid, freshness } = reading;
    const siteId = this.#model.siteOf(appid);
    const isUnsigned = mismatch(call, answer, { kind: "unsigned" }) === undefined;
    const isLimited =
      formMismatch(call, answer, LIMITED) === undefined &&
      Number(answer.headers.get("retry-after")) === LIMITS.CLIENT_LIMIT.period;
    if (isUnsigned || isLimited) {
      this.excuses.noteUnsigned(watched);
      const forged = !wasOnceInForce(this.#model, watched);
      const isUnknown = !this.#model.hasRouted(appid);
      const invented = siteId === undefined && !this.#model.versions.has(appid);
      this.#clientLimit.fails(call, { isLimited, forged, isUnknown, invented });
    } else this.#clientLimit.succeeds(call);
    const done = committed !== undefined && !isUnsigned && formMismatch(call, answer, NO_ANSWER) !== undefined;
    if (done) this.usedRanstrs.uses(call);
    if (done) this.#appLimits.letThrough(call, appid, siteId, committed.at);
    if (done && freshness !== undefined) this.#appLimits.charge(call, { appid, siteId, ...freshness });
    if (isMalformed(reading)) {
      if (mismatch(call, answer, { kind: "fields_malformed" }) === undefined)
        this.#appLimits.chargeMalformed(call, appid);
      else this.#appLimits.checkCost(call, appid);
    }
    this.costs.answers(call, { appid, ranstr: freshness?.ranstr, done, failed: isUnsigned });
  }
}
