import type { Call } from "../../world/call.ts";
import type { Violate } from "../violate.ts";

/** Milliseconds between two messages for a home from one isolate, and between two batches there. */
const PAUSE_MS = 999;

/** docs/architecture.md, "The way of a refused call": the journal leaves the homes and the queue to others. */
export class Pace {
  readonly #violate: Violate;
  /** When each isolate has sent messages, in milliseconds of virtual time. */
  readonly #sent = new Map<string, number[]>();
  /** When each isolate has begun to write to a home. */
  readonly #written = new Map<string, number>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  /** All work of a call has ended. */
  ends({ isolate, trips }: Call): void {
    const sent = trips.filter(({ to }) => to.startsWith("JOURNAL ")).map(({ at }) => at);
    if (isolate === undefined || sent.length === 0) return;
    this.#sent.set(isolate.name, [...(this.#sent.get(isolate.name) ?? []), ...sent]);
  }

  /** The consumer writes to a home, perhaps not for the first time. */
  writes(home: string, { name, isolate, trips }: Call): void {
    const at = trips.find(({ to }) => to === `${home} batch`)?.at ?? 0;
    const place = `${isolate?.name} ${home}`;
    const before = this.#written.get(place) ?? Number.NEGATIVE_INFINITY;
    // A try without an answer may be done after the next batch has begun.
    if (at <= before) return;
    this.#written.set(place, at);
    if (at - before >= PAUSE_MS) return;
    const what = `${name} wrote to ${home} ${Math.round(at - before)} ms after the batch before`;
    this.#violate("an isolate writes one batch of refused calls a second to a home", what, [name]);
  }

  /** @param homes how many homes there are */
  runEnds(homes: number): void {
    // A record of KV that was tampered with may name one home more.
    const most = homes + 1;
    for (const [isolate, times] of this.#sent) {
      const sorted = times.toSorted((a, b) => a - b);
      const early = sorted.find((at, i) => at - (sorted[i - most] ?? Number.NEGATIVE_INFINITY) < PAUSE_MS);
      if (early === undefined) continue;
      const what = `${isolate} sent ${most + 1} messages within a second, the last ${Math.round(early)} ms after the start`;
      this.#violate("an isolate sends a home one message of refused calls a second", what, [isolate]);
    }
  }
}
