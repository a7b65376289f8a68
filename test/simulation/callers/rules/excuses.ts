import { hasEnded, type Model } from "../../checker/model.ts";
import { WHOLE_LIMIT_MS } from "../../erasure/rules/periods.ts";
import type { StalledHomes } from "../../weather/stalled-homes.ts";
import type { Answer, Call } from "../../world/call.ts";
import { TRANSIENT_FAULT } from "../../world/cloud/database-link.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import { formMismatch, LIMITED, mismatch, NO_ANSWER } from "./answers.ts";
import type { Costs } from "./costs.ts";
import type { AppLimits, ClientLimit } from "./limits.ts";
import { wasOnceInForce } from "./signatures.ts";
import type { WatchedCall } from "./verdicts.ts";

/** Milliseconds for which an isolate makes no look-up for an app and an address after a failed signature. */
const NEGATIVE_CACHE_MS = 5_000;
/** How often an isolate asks D1 whether a refused caller is still valid, in milliseconds. */
const CONFIRM_EVERY_MS = 1_000;
const CONFIRMS_PER_SECOND = 10;
/** `retry-after` of a call that got no turn at D1: docs/operating/sites-and-secrets.md, "Limits". */
const TURN_RETRY_SECONDS = 1;
/** Refusals that an isolate decides before the batch, so D1 has not confirmed the app for them. */
const REFUSED_BEFORE_THE_BATCH = ["stale", "site_closed"] as const;

/** Other parts of the checker that know why a call may be refused. */
type ExcuseRules = { costs: Costs; appLimits: AppLimits; clientLimit: ClientLimit; stalledHomes: StalledHomes };

/** Answers that no verdict explains although the contract allows them. */
export class Excuses {
  readonly #model: Model;
  readonly #calls: ReadonlyMap<Call, WatchedCall>;
  readonly #rules: ExcuseRules;
  /** When an isolate last answered that a signature failed, by isolate, app and address. */
  readonly #unsignedAt = new Map<string, number>();
  /** Apps whose record in KV was tampered with. */
  readonly #tamperedAppids = new Set<string>();

  /** @param calls every signed call so far */
  constructor(model: Model, calls: ReadonlyMap<Call, WatchedCall>, rules: ExcuseRules) {
    this.#model = model;
    this.#calls = calls;
    this.#rules = rules;
  }

  /** Notes that a call was refused for its signature, or for too many failures of its address. */
  noteUnsigned({ call, reading }: WatchedCall): void {
    this.#unsignedAt.set(`${call.isolate?.name} ${reading.appid} ${call.client}`, call.answeredAt as number);
  }

  /** Notes that an attacker has written an app's record into KV. */
  noteTampered(appid: string): void {
    this.#tamperedAppids.add(appid);
  }

  isExcused(watched: WatchedCall, answer: Answer): boolean {
    const { call, commit } = watched;
    if (formMismatch(call, answer, NO_ANSWER) === undefined) {
      const isExplained = isBearable(call) || this.#failedElsewhere(watched);
      if (!isExplained || this.#waitsForOthers(watched)) return true;
      return this.#isStalled(watched) || this.#isMisled(watched) || this.#isUnconfirmed(watched, answer);
    }
    if (commit !== undefined)
      return this.#hasLostSite(watched) && mismatch(call, answer, { kind: "unsigned" }) === undefined;
    if (formMismatch(call, answer, LIMITED) === undefined) return this.#isLimited(watched);
    if (this.#isUnconfirmed(watched, answer)) return true;
    if (mismatch(call, answer, { kind: "unsigned" }) !== undefined) return false;
    // If the cached record was current during the whole call, an earlier failure explains nothing.
    const { appid } = watched.reading;
    return this.#isHidden(watched) || (this.#failedBefore(watched) && !this.#rules.costs.isWarm(call, appid));
  }

  /** docs/architecture.md, "Time is bounded": whether the app's home or the directory gives this isolate no answers. */
  #isStalled({ call, reading }: WatchedCall): boolean {
    const homes = ["main", this.#model.homeOf(reading.appid)].filter((home) => home !== undefined);
    return homes.some((home) => this.#rules.stalledHomes.mayRefuse(call, home, call.answeredAt ?? 0));
  }

  /** Whether the call's commit lost its answer and its site has ended since, so the next try does not find the app. */
  #hasLostSite({ call, reading }: WatchedCall): boolean {
    const siteId = this.#model.routes.get(reading.appid);
    return call.faults.length > 0 && siteId !== undefined && hasEnded(this.#model.directory.get(siteId));
  }

  /** Calls of one app in one isolate share look-ups and the replay check, so a fault of one call may delay another one. */
  #waitsForOthers(watched: WatchedCall): boolean {
    const { arrivedAt = 0 } = watched.call;
    return this.#othersOfApp(watched).some((other) => {
      const { call } = other;
      // A call may wait for another call that was cut off. It gives up when the other call's time is over.
      const end = (call.arrivedAt ?? 0) + WHOLE_LIMIT_MS;
      const isExplained = this.#failedElsewhere(other);
      return call.faults.length > 0 && !isExplained && (call.answeredAt ?? end) >= arrivedAt;
    });
  }

  /**
   * docs/threat-model.md, "Write access to KV": a record that names a silent home must not stop an app whose own home
   * answers. True when neither the app's own home nor the directory's has met a fault.
   */
  #failedElsewhere({ call, reading }: WatchedCall): boolean {
    const { appid } = reading;
    if (!this.#tamperedAppids.has(appid)) return false;
    const ownHome = this.#model.homeOf(appid);
    const failedHomes = call.faults.map((fault) => fault.split(":")[0]);
    return (
      ownHome !== undefined &&
      failedHomes.every((home) => home !== ownHome && home !== "main" && this.#model.homes.has(String(home)))
    );
  }

  /**
   * docs/threat-model.md, "Write access to KV". A record that names `main` while `main` is closed lets the app be
   * refused. The isolate believes a record that names another closed home, unless the directory says otherwise. A
   * record that names an unknown home may cause one such answer for a revoked app or a replaced secret, before the
   * isolate knows of the change. An app that is issued again after a restore may be unknown for 5 s, when an isolate
   * has it in its negative cache.
   */
  #isMisled(watched: WatchedCall): boolean {
    const { call, reading, possible } = watched;
    const { appid } = reading;
    if (!this.#tamperedAppids.has(appid)) return false;
    // Without a route, only KV names the home of the app.
    if (this.#model.homeOf(appid) === undefined) return true;
    const { closedHomes } = call.settings;
    if (closedHomes.includes("main") || (closedHomes.length > 0 && call.faults.length > 0)) return true;
    if (this.#wasSoughtInVain(watched)) return true;
    const kinds = [...possible.values()].map(({ kind }) => kind).filter((kind) => kind !== "used");
    const isRefused = kinds.some((kind) => kind === "unsigned" || kind === "seal_unknown");
    return isRefused && wasOnceInForce(this.#model, watched);
  }

  /**
   * docs/threat-model.md, "Write access to KV": a record that names another home hides that the app's own home is
   * closed, so the signature is verified.
   */
  #isHidden({ reading, possible }: WatchedCall): boolean {
    return this.#tamperedAppids.has(reading.appid) && [...possible.values()].some(({ kind }) => kind === "home_closed");
  }

  /** docs/operating/sites-and-secrets.md, "Limits": a 429 follows from calls of the app, its site or its address. */
  #isLimited(watched: WatchedCall): boolean {
    const { call, reading, possible } = watched;
    const { costs, appLimits, clientLimit } = this.#rules;
    const { appid } = reading;
    const period = Number(call.answer?.headers.get("retry-after"));
    if (period === LIMITS.APP_LIMIT.period) {
      return appLimits.explains(call, appid, this.#model.siteOf(appid));
    }
    const isUnsigned = [...possible.values()].some(({ kind }) => kind === "unsigned");
    const mayBeUnsigned = isUnsigned || this.#isHidden(watched) || this.#failedBefore(watched);
    if (period === TURN_RETRY_SECONDS)
      return (mayBeUnsigned || !costs.isWarm(call, appid)) && clientLimit.explainsTurn(call);
    if (period !== LIMITS.CLIENT_LIMIT.period) return false;
    return mayBeUnsigned && clientLimit.explains(call);
  }

  /**
   * docs/decisions.md, "unknown or revoked appid". An isolate that has not heard of a revocation asks D1 before it
   * gives the reason of a refusal: once a second for one signature, ten times a second for an app. Without an answer of
   * D1 it gives the reason.
   */
  #isUnconfirmed(watched: WatchedCall, answer: Answer): boolean {
    const { call, reading } = watched;
    if (REFUSED_BEFORE_THE_BATCH.every((kind) => mismatch(call, answer, { kind }) !== undefined)) return false;
    if (!wasOnceInForce(this.#model, watched)) return false;
    // A tampered record can send a call to a home that does not exist, where D1 cannot be asked.
    if (call.faults.length > 0 || this.#isStalled(watched) || this.#tamperedAppids.has(reading.appid)) return true;
    const before = this.#othersOfApp(watched).filter(
      (other) => (call.arrivedAt ?? 0) - (other.call.answeredAt ?? Number.POSITIVE_INFINITY) < CONFIRM_EVERY_MS,
    );
    const signatures = new Set(before.map((other) => other.reading.signature.toLowerCase()));
    return signatures.has(reading.signature.toLowerCase()) || signatures.size >= CONFIRMS_PER_SECOND;
  }

  /**
   * docs/architecture.md, "Caches may be wrong": after a fresh look-up has found nothing new, the isolate looks up the
   * appid for the same address only after 5 s.
   */
  #failedBefore({ call, reading }: WatchedCall): boolean {
    const failedAt = this.#unsignedAt.get(`${call.isolate?.name} ${reading.appid} ${call.client}`);
    return failedAt !== undefined && failedAt >= (call.arrivedAt ?? 0) - NEGATIVE_CACHE_MS;
  }

  /** Whether the isolate got no usable answer from the directory for the app and client within the last 5 s. */
  #wasSoughtInVain(watched: WatchedCall): boolean {
    const { call } = watched;
    return this.#othersOfApp(watched).some(({ call: other }) => {
      if (other.client !== call.client || other.answer === undefined || other.answeredAt === undefined) return false;
      const since = (call.arrivedAt ?? 0) - other.answeredAt;
      const hasAsked = other.trips.some(({ to }) => to.startsWith("main "));
      return hasAsked && since < NEGATIVE_CACHE_MS && formMismatch(other, other.answer, NO_ANSWER) === undefined;
    });
  }

  /** Other calls of the same app that the same isolate has served or is serving. */
  #othersOfApp({ call, reading }: WatchedCall): WatchedCall[] {
    const all = [...(call.isolate?.calls ?? [])].flatMap((each) => this.#calls.get(each) ?? []);
    return all.filter((other) => other.call !== call && other.reading.appid === reading.appid);
  }
}

/**
 * docs/architecture.md, "Time is bounded": whether the Worker should have overcome the faults of a call. It retries
 * after an error that D1 calls transient, and after 3 s without an answer.
 */
const isBearable = ({ faults: [fault, another] }: Call): boolean =>
  fault === undefined || (another === undefined && (fault === TRANSIENT_FAULT || / in silence$/.test(fault)));
