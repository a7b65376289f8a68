import type { Answer, Call } from "../../world/call.ts";
import { TRANSIENT_FAULT } from "../../world/cloud/database-link.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import type { Model } from "../model.ts";
import { REFRESH_PAUSE_MS, WHOLE_LIMIT_MS } from "../periods.ts";
import { formMismatch, LIMITED, mismatch, NO_ANSWER } from "./answers.ts";
import type { AppLimits } from "./app-limits.ts";
import type { ClientLimit } from "./client-limit.ts";
import { isMalformed } from "./contract.ts";
import type { Costs } from "./costs.ts";
import { isReadable, wasOnceInForce } from "./signatures.ts";
import type { ReadableCall, WatchedCall } from "./watched-call.ts";

/** How often an isolate asks D1 whether it still knows a caller who is refused anyway. */
const CONFIRM_PAUSE_MS = 1_000;
const CONFIRMS_PER_SECOND = 10;
/** The refusals that an isolate tells before the batch, and so before D1 has confirmed the app. */
const TOLD_BEFORE_THE_BATCH = ["stamp_malformed", "stale", "fields_malformed", "site_closed"] as const;

/** Why an answer that no verdict explains is one of the few that the contract allows all the same. */
export class Excuses {
  readonly #model: Model;
  readonly #calls: ReadonlyMap<Call, WatchedCall>;
  readonly #rules: { costs: Costs; appLimits: AppLimits; clientLimit: ClientLimit };
  /** When a call was last answered that its signature failed, by isolate, app and address. */
  readonly #unsigned = new Map<string, number>();
  /** Apps whose record in KV somebody has written. */
  readonly #tampered = new Set<string>();

  /** @param calls every signed call so far */
  constructor(
    model: Model,
    calls: ReadonlyMap<Call, WatchedCall>,
    rules: { costs: Costs; appLimits: AppLimits; clientLimit: ClientLimit },
  ) {
    this.#model = model;
    this.#calls = calls;
    this.#rules = rules;
  }

  /** A call was answered that its signature failed, or that too many did at its address. */
  noteUnsigned({ call, reading }: ReadableCall): void {
    this.#unsigned.set(`${call.isolate?.name} ${reading.appid} ${call.client}`, call.answeredAt as number);
  }

  /** Somebody has written into KV what he likes as an app's record. */
  noteTampered(appid: string): void {
    this.#tampered.add(appid);
  }

  allow(watched: WatchedCall, answer: Answer): boolean {
    const { call, committed } = watched;
    if (formMismatch(call, answer, NO_ANSWER) === undefined) {
      const isBorne = isBearable(call) || (isReadable(watched) && this.#failedElsewhere(watched));
      if (!isBorne || this.waitsForOthers(watched, (other) => this.#failedElsewhere(other))) return true;
      return isReadable(watched) && (this.#isMisled(watched) || this.#isToldUnconfirmed(watched, answer));
    }
    if (committed !== undefined || !isReadable(watched)) return false;
    if (formMismatch(call, answer, LIMITED) === undefined) return this.#isLimited(watched);
    if (this.#isToldUnconfirmed(watched, answer)) return true;
    if (mismatch(call, answer, { kind: "unsigned" }) !== undefined) return false;
    // Where the record was new enough all the time, an earlier failure explains nothing.
    const { appid } = watched.reading;
    return this.#isHidden(watched) || (this.#failedBefore(watched) && !this.#rules.costs.isWarm(call, appid));
  }

  /**
   * Calls of one app in one isolate share its look-ups and its replay check: a call may wait for the faults of another one.
   *
   * @param isBorne whether the faults of another call should have been overcome all the same
   */
  waitsForOthers(watched: WatchedCall, isBorne: (other: ReadableCall) => boolean = () => false): boolean {
    if (!isReadable(watched)) return false;
    const { arrivedAt = 0 } = watched.call;
    return this.#othersOfApp(watched).some((other) => {
      const { call } = other;
      // Whoever waits for a call that was cut off gives up when that call's time is over.
      const ended = (call.arrivedAt ?? 0) + WHOLE_LIMIT_MS;
      return call.faults.length > 0 && !isBorne(other) && (call.answeredAt ?? ended) >= arrivedAt;
    });
  }

  /**
   * docs/threat-model.md, "Write access to KV": naming a home that hangs stops no app of a home that answers. All faults were of homes that
   * are neither the app's own nor the directory's.
   */
  #failedElsewhere({ call, reading }: ReadableCall): boolean {
    const { appid } = reading;
    if (!this.#tampered.has(appid) || this.#model.moved.has(appid)) return false;
    const own = this.#model.homeOf(appid);
    const failed = call.faults.map((fault) => fault.split(":")[0]);
    return (
      own !== undefined &&
      failed.every((home) => home !== own && home !== "main" && this.#model.homes.has(String(home)))
    );
  }

  /**
   * docs/threat-model.md, "Write access to KV": it can have an app refused while `main` is closed, by naming it as the app's, and any closed
   * home is believed to be the app's when the directory does not say otherwise. And a revoked app that KV sends to a home that there is
   * not may be answered so once, before its isolate knows. An app that is issued again after a restore took it is found 5 s later by a
   * client for whom its isolate has sought it in vain.
   */
  #isMisled(watched: ReadableCall): boolean {
    const { call, reading, possible } = watched;
    const { appid } = reading;
    if (!this.#tampered.has(appid)) return false;
    // Without a route, or with secrets sealed for another site, nobody but KV says where the app is.
    if (this.#model.homeOf(appid) === undefined || this.#model.moved.has(appid)) return true;
    const { closedHomes } = call.settings;
    const isAsked = call.faults.length === 0;
    if (closedHomes.includes("main") || (closedHomes.length > 0 && !isAsked)) return true;
    if (this.#wasSoughtInVain(watched)) return true;
    const kinds = [...possible.values()].map(({ kind }) => kind);
    const isUnsigned = kinds.some((kind) => kind === "unsigned" || kind === "seal_unknown");
    const isNoMore = kinds.every((kind) => kind === "unsigned" || kind === "seal_unknown" || kind === "used");
    return isUnsigned && isNoMore && wasOnceInForce(this.#model, watched);
  }

  /** The same: by naming another home, it hides that the app's own home is closed, and then the signature is verified. */
  #isHidden({ reading, possible }: ReadableCall): boolean {
    return this.#tampered.has(reading.appid) && [...possible.values()].some(({ kind }) => kind === "home_closed");
  }

  /**
   * docs/operating.md, "Limits": 429 comes of what the app, its site or its address did itself. The header tells which of them is meant.
   */
  #isLimited(watched: ReadableCall): boolean {
    const { call, reading, possible } = watched;
    const { costs, appLimits, clientLimit } = this.#rules;
    const { appid } = reading;
    const period = Number(call.answer?.headers.get("retry-after"));
    if (period === LIMITS.APP_LIMIT.period) {
      return appLimits.explains(call, appid, this.#model.siteOf(appid), isMalformed(reading));
    }
    if (period !== LIMITS.CLIENT_LIMIT.period) return false;
    const isUnsigned = [...possible.values()].some(({ kind }) => kind === "unsigned");
    const mayBeUnsigned = isUnsigned || this.#isHidden(watched) || this.#failedBefore(watched);
    return clientLimit.explains(call, { mayBeUnsigned, isKnown: costs.isWarm(call, appid) });
  }

  /**
   * docs/decisions.md, "unknown or revoked appid": an isolate that has not heard of a revocation asks D1 before a refusal tells more, once
   * a second for one signature and ten times for an app. Without an answer it tells.
   */
  #isToldUnconfirmed(watched: ReadableCall, answer: Answer): boolean {
    const { call, reading } = watched;
    if (TOLD_BEFORE_THE_BATCH.every((kind) => mismatch(call, answer, { kind }) !== undefined)) return false;
    if (!wasOnceInForce(this.#model, watched)) return false;
    // Whoever writes to KV can send a call to a home that there is not, where nobody can be asked.
    if (call.faults.length > 0 || this.#tampered.has(reading.appid)) return true;
    const before = this.#othersOfApp(watched).filter(
      (other) => (call.arrivedAt ?? 0) - (other.call.answeredAt ?? Number.POSITIVE_INFINITY) < CONFIRM_PAUSE_MS,
    );
    const signatures = new Set(before.map((other) => other.reading.signature.toLowerCase()));
    return signatures.has(reading.signature.toLowerCase()) || signatures.size >= CONFIRMS_PER_SECOND;
  }

  /**
   * docs/architecture.md, "Caches may be wrong": after a fresh look-up in vain the isolate takes no other for that appid and that address
   * for 5 s.
   */
  #failedBefore({ call, reading }: ReadableCall): boolean {
    const failed = this.#unsigned.get(`${call.isolate?.name} ${reading.appid} ${call.client}`);
    return failed !== undefined && failed >= (call.arrivedAt ?? 0) - REFRESH_PAUSE_MS;
  }

  /** Whether the isolate has asked the directory where the app is, for the same client, and got no answer to give within the last 5 s. */
  #wasSoughtInVain(watched: ReadableCall): boolean {
    const { call } = watched;
    return this.#othersOfApp(watched).some(({ call: other }) => {
      if (other.client !== call.client || other.answer === undefined || other.answeredAt === undefined) return false;
      const since = (call.arrivedAt ?? 0) - other.answeredAt;
      const hasAsked = other.trips.some(({ to }) => to.startsWith("main "));
      return hasAsked && since < REFRESH_PAUSE_MS && formMismatch(other, other.answer, NO_ANSWER) === undefined;
    });
  }

  /** The other calls of the same app that the same isolate has served or serves. */
  #othersOfApp({ call, reading }: ReadableCall): ReadableCall[] {
    const others: ReadableCall[] = [];
    for (const each of call.isolate?.calls ?? []) {
      const other = each === call ? undefined : this.#calls.get(each);
      if (other !== undefined && isReadable(other) && other.reading.appid === reading.appid) others.push(other);
    }
    return others;
  }
}

/**
 * docs/architecture.md, "Time is bounded": whether the Worker should have overcome what met a call. It tries again after a fault that D1
 * calls transient, and after 3 s without an answer.
 */
const isBearable = ({ faults: [fault, another] }: Call): boolean =>
  fault === undefined || (another === undefined && (fault === TRANSIENT_FAULT || / in silence$/.test(fault)));
