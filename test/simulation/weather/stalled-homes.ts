import type { Violate } from "../checker/violate.ts";
import type { Call } from "../world/call.ts";

/** Milliseconds for which the Worker waits for an answer to one try, and after which a silent home counts as stalled. */
const TRY_MS = 3_000;
const SILENT_MS = 2 * TRY_MS;
/** How often a call tries a home. */
const TRIES = 3;
/** The most milliseconds between what the Worker and this rule take for the begin of a try. */
const SLACK_MS = 100;

/** A try of a call at a home, since the home's last answer to its isolate. */
interface Try {
  call: Call;
  at: number;
  /** Whether the home counted as stalled by then. */
  isProbe: boolean;
}

/** docs/architecture.md, "Time is bounded": from an isolate to a home that gives no answers goes one try at a time. */
export class StalledHomes {
  readonly #violate: Violate;
  /** By isolate and home. */
  readonly #tries = new Map<string, Try[]>();
  /** When a home last answered that may have counted as stalled until then, by isolate and home. */
  readonly #ended = new Map<string, number>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  /** A call asks a home. Cron and queue ask when they want. */
  asks(call: Call, home: string, now: number): void {
    if (!isGuarded(call)) return;
    const place = placeOf(call, home);
    const last = this.#tries.get(place)?.at(-1)?.at ?? now;
    // Nobody has asked for so long that nobody knows whether it still stalls.
    const tries = now - last > SILENT_MS - SLACK_MS ? [] : (this.#tries.get(place) ?? []);
    const isProbe = isStalled(tries, now, SLACK_MS);
    const other = tries.findLast((each) => each.isProbe && now - each.at < TRY_MS - SLACK_MS);
    if (isProbe && other !== undefined) {
      const what = `${call.name} asks ${home} beside ${other.call.name}`;
      this.#violate("from an isolate to a home that gives no answers goes one try at a time", what, [call.name]);
    }
    this.#tries.set(place, [...tries, { call, at: now, isProbe }]);
  }

  /** An answer of a home has reached a call, also one that it no longer waits for. */
  hears(call: Call, home: string, now: number): void {
    if (!isGuarded(call)) return;
    if (this.mayRefuse(call, home, now)) this.#ended.set(placeOf(call, home), now);
    this.#tries.delete(placeOf(call, home));
  }

  /** Whether a call may have been refused since it arrived, because another one tried the home. */
  mayRefuse(call: Call, home: string, now: number): boolean {
    const place = placeOf(call, home);
    const ended = this.#ended.get(place) ?? Number.NEGATIVE_INFINITY;
    return ended >= (call.arrivedAt ?? 0) || isStalled(this.#tries.get(place) ?? [], now, -SLACK_MS);
  }
}

const isGuarded = ({ role }: Call): boolean => role !== "cron" && role !== "queue";

const placeOf = ({ isolate }: Call, home: string): string => `${isolate?.name} ${home}`;

/** Whether more tries than one call has have had no answer, and nobody for as long as two tries. @param slack milliseconds more */
function isStalled(tries: readonly Try[], now: number, slack: number): boolean {
  const [first, ofAnother] = [tries[0], tries[TRIES]];
  if (first === undefined || ofAnother === undefined) return false;
  return now - first.at >= SILENT_MS + slack && now - ofAnother.at >= TRY_MS + slack;
}
