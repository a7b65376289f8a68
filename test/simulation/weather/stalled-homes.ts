import type { Violate } from "../checker/violate.ts";
import type { Call } from "../world/call.ts";

/** Milliseconds for which the Worker waits for one try. A home that is silent for twice that time counts as stalled. */
const TRY_MS = 3_000;
const SILENT_MS = 2 * TRY_MS;
/** How often a call tries a home. */
const TRIES = 3;
/** The most milliseconds between the start of a try in the Worker and its start in this rule. */
const SLACK_MS = 100;

/** A try of a call at a home, since the home's last answer to its isolate. */
interface DatabaseTry {
  call: Call;
  at: number;
  /** Whether the home counted as stalled when the try began. */
  isProbe: boolean;
}

/** docs/architecture.md, "A database that does not answer gets one try at a time". */
export class StalledHomes {
  readonly #violate: Violate;
  /** The tries without an answer, by isolate and home. */
  readonly #tries = new Map<string, DatabaseTry[]>();
  /** When a home gave an answer that may have ended its stalled state, by isolate and home. */
  readonly #endedAt = new Map<string, number>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  /** Checks a try of a call at a home. The rule does not hold for runs of cron and queue. */
  asks(call: Call, home: string, now: number): void {
    if (!isGuarded(call)) return;
    const place = placeOf(call, home);
    const last = this.#tries.get(place)?.at(-1)?.at ?? now;
    // After that time without a try, the Worker does not know whether the home still stalls.
    const tries = now - last > SILENT_MS - SLACK_MS ? [] : (this.#tries.get(place) ?? []);
    const isProbe = isStalled(tries, now, SLACK_MS);
    const other = tries.findLast((each) => each.isProbe && now - each.at < TRY_MS - SLACK_MS);
    if (isProbe && other !== undefined) {
      const what = `${call.name} asks ${home} beside ${other.call.name}`;
      this.#violate("an isolate sends one try at a time to a home that gives no answers", what, [call.name]);
    }
    this.#tries.set(place, [...tries, { call, at: now, isProbe }]);
  }

  /** Notes that an answer of a home has reached a call, even if the call no longer waits for it. */
  hears(call: Call, home: string, now: number): void {
    if (!isGuarded(call)) return;
    if (this.mayRefuse(call, home, now)) this.#endedAt.set(placeOf(call, home), now);
    this.#tries.delete(placeOf(call, home));
  }

  /** Whether a call may be refused because, since it arrived, another call was trying the home. */
  mayRefuse(call: Call, home: string, now: number): boolean {
    const place = placeOf(call, home);
    const endedAt = this.#endedAt.get(place) ?? Number.NEGATIVE_INFINITY;
    return endedAt >= (call.arrivedAt ?? 0) || isStalled(this.#tries.get(place) ?? [], now, -SLACK_MS);
  }
}

const isGuarded = ({ role }: Call): boolean => role !== "cron" && role !== "queue";

const placeOf = ({ isolate }: Call, home: string): string => `${isolate?.name} ${home}`;

/**
 * Whether the first of more than {@link TRIES} tries has had no answer for {@link SILENT_MS}.
 *
 * @param slack milliseconds more
 */
function isStalled(tries: readonly DatabaseTry[], now: number, slack: number): boolean {
  const [first, ofAnother] = [tries[0], tries[TRIES]];
  if (first === undefined || ofAnother === undefined) return false;
  return now - first.at >= SILENT_MS + slack && now - ofAnother.at >= TRY_MS + slack;
}
