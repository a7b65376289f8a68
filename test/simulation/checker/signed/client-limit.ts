import type { Call } from "../../world/call.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import type { Violate } from "../violate.ts";
import { areLimitsBound, clientKey, EARLY_MS, LIMITER_MS } from "./limits.ts";

/** Milliseconds for which an isolate refuses a client's calls after its limit was exceeded. */
const REFUSED_MS = 60_000;
const PERIOD_MS = LIMITS.CLIENT_LIMIT.period * 1000;

/** A failed signature check, as the limit of a client counts it. */
interface Failure {
  isUnknown: boolean;
  /** Whether no app ever had the appid, so no cache can know one. */
  invented?: boolean;
}

/** The limit of an address: which failures there may lead to a 429, which must, and what a refused call may cost. */
export class ClientLimit {
  readonly #violate: Violate;
  /** Calls by edge and client, in the order of their arrival. */
  readonly #calls = new Map<string, Call[]>();
  readonly #failures = new Map<Call, Failure>();
  /** When an isolate learnt that a client failed too often, by isolate, client and kind of failure. */
  readonly #exceeded = new Map<string, number>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  arrives(call: Call, isUnknown: boolean): void {
    const key = `${call.edge} ${clientKey(call)}`;
    const calls = this.#calls.get(key);
    if (calls === undefined) this.#calls.set(key, [call]);
    else calls.push(call);
    // Until it is answered it may still become a failure.
    this.#failures.set(call, { isUnknown });
  }

  /** Whether failures at its address explain that a call is refused with 429. */
  explains(call: Call, { mayBeUnsigned, isKnown }: { mayBeUnsigned: boolean; isKnown: boolean }): boolean {
    if (!areLimitsBound(call)) return false;
    const now = call.answeredAt as number;
    const { limit } = LIMITS.CLIENT_LIMIT;
    // A limit that does not answer was asked long before the call's answer, perhaps in the window before.
    const asked = call.limiterFailed ? (call.arrivedAt as number) : now;
    const from = Math.floor((asked - LIMITER_MS) / PERIOD_MS) * PERIOD_MS;
    if (mayBeUnsigned && this.#count(call, from, now, () => true) > limit) return true;
    if (isKnown) return false;
    const first = Math.floor(((call.arrivedAt as number) - REFUSED_MS - LIMITER_MS) / PERIOD_MS) * PERIOD_MS;
    for (let start = first; start <= now; start += PERIOD_MS) {
      if (this.#count(call, start - LIMITER_MS, start + PERIOD_MS, ({ isUnknown }) => isUnknown) > limit) return true;
    }
    return false;
  }

  /** The signature of a call verified. */
  succeeds(call: Call): void {
    this.#failures.delete(call);
  }

  /**
   * A call failed: its signature did not verify, or its appid is unknown. It is forged when none of the app's secrets,
   * current or ended, signed it. It is invented when no app ever had the appid.
   */
  fails(
    call: Call,
    { isLimited, isUnknown, ...told }: { isLimited: boolean; isUnknown: boolean; forged: boolean; invented: boolean },
  ): void {
    this.#failures.set(call, { isUnknown, invented: told.invented });
    if (!areLimitsBound(call)) return;
    this.#checkCost(call, isLimited, told);
    if (!isCounted(call)) return;
    const { limit } = LIMITS.CLIENT_LIMIT;
    if (this.#countSure(call, () => true) >= limit) {
      this.#learn(call, "signed");
      if (!isLimited) {
        this.#violate(
          "an address that fails too often is refused with 429",
          `${call.name} was answered 401 after ${limit} failures at ${call.client}`,
          [call.name, call.client],
        );
      }
    }
    if (!told.invented) return;
    if (this.#countSure(call, (failure) => failure.invented === true) >= limit) this.#learn(call, "unknown");
  }

  /** A call from an address over its limit must cost nothing except its answer. */
  #checkCost(call: Call, isLimited: boolean, { forged, invented }: { forged: boolean; invented: boolean }): void {
    const asked = call.trips.map(({ to }) => to);
    if (forged && this.#knows(call, "signed") && asked.includes("NONCES get")) {
      this.#violate(
        "an address that fails too often causes no read of NONCES",
        `${call.name} read it, ${call.client} had exceeded its limit`,
        [call.name, call.client],
      );
    }
    if (invented && this.#knows(call, "unknown") && (asked.length > 0 || !isLimited)) {
      this.#violate(
        "an address that invented too many appids causes no look-up",
        `${call.name} asked ${asked.join(", ")} and was answered ${call.answer?.status}`,
        [call.name, call.client],
      );
    }
  }

  #learn(call: Call, kind: "signed" | "unknown"): void {
    this.#exceeded.set(`${call.isolate?.name} ${clientKey(call)} ${kind}`, call.answeredAt as number);
  }

  /** Whether the call's isolate knew during the whole call that the client had failed too often. */
  #knows(call: Call, kind: "signed" | "unknown"): boolean {
    const since = this.#exceeded.get(`${call.isolate?.name} ${clientKey(call)} ${kind}`);
    if (since === undefined) return false;
    const { arrivedAt, answeredAt } = call as { arrivedAt: number; answeredAt: number };
    return arrivedAt > since + LIMITER_MS && answeredAt < since + REFUSED_MS - EARLY_MS;
  }

  /** How many calls of a client at this location failed, or may still fail, the call itself included. */
  #count(call: Call, from: number, to: number, fits: (failure: Failure) => boolean): number {
    return this.#callsOf(call).filter((other) => {
      const failure = this.#failures.get(other);
      if (failure === undefined || !fits(failure) || (other.arrivedAt as number) > to) return false;
      return (other.answeredAt ?? Number.POSITIVE_INFINITY) >= from;
    }).length;
  }

  /** How many calls of a client certainly failed, and were counted, in this call's window before it. */
  #countSure(call: Call, fits: (failure: Failure) => boolean): number {
    const now = call.answeredAt as number;
    const start = Math.floor(now / PERIOD_MS) * PERIOD_MS;
    return this.#callsOf(call).filter((other) => {
      const failure = this.#failures.get(other);
      const { answeredAt: at } = other;
      if (failure === undefined || at === undefined || !fits(failure) || !isCounted(other)) return false;
      return at >= start + LIMITER_MS && at <= now - LIMITER_MS && now - LIMITER_MS >= start;
    }).length;
  }

  #callsOf(call: Call): Call[] {
    return this.#calls.get(`${call.edge} ${clientKey(call)}`) ?? [];
  }
}

/**
 * Whether the limit has certainly counted a failure: a call that is refused without a look-up may not be counted again.
 */
const isCounted = ({ answer, limiterFailed, trips }: Call): boolean =>
  !limiterFailed && (answer?.headers.has("retry-after") !== true || trips.some(({ to }) => to !== "NONCES get"));
