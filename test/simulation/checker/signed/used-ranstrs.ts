import type { Call } from "../../world/call.ts";
import type { Violate } from "../violate.ts";

/**
 * Calls of bindings that every request makes once it has used up its ranstr, whether it is accepted, refused by the
 * database or repeated.
 */
const PRICE = [
  { binding: "NONCES", trip: "NONCES put", rule: "a request that has used up its ranstr puts it into NONCES" },
  {
    binding: "APP_LIMIT",
    trip: "APP_LIMIT limit",
    rule: "a request that has used up its ranstr counts for its app's limit",
  },
  {
    binding: "SITE_LIMIT",
    trip: "SITE_LIMIT limit",
    rule: "a request that has used up its ranstr counts for its site's limit",
  },
];

/** docs/architecture.md, "The way of a signed request", and docs/operating.md, "Limits". */
export class UsedRanstrs {
  readonly #violate: Violate;
  readonly #used = new Set<Call>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  /** A call was answered with its result, and has used up its ranstr. */
  uses(call: Call): void {
    this.#used.add(call);
  }

  /** All work of the call has ended. */
  isOver(call: Call): void {
    if (!this.#used.delete(call)) return;
    const asked = new Set([...call.trips, ...call.counts].map(({ to }) => to));
    for (const { binding, trip, rule } of PRICE) {
      if (asked.has(trip) || !(binding in (call.isolate?.env ?? {}))) continue;
      this.#violate(rule, `${call.name} did not: it asked ${[...asked].join(", ")}`, [call.name]);
    }
  }
}
