import type { Call } from "../../world/call.ts";
import { mayBeDown } from "../admin/journal-reads.ts";
import type { Visit } from "./door.ts";

/** How long an isolate may open for a token that it knows, while the directory does not answer: docs/operating.md, "Tokens". */
const REMEMBERED_MS = 300_000;

/** The tokens that each isolate may know. */
export class Memories {
  /** When an isolate last learnt of a token, by its own clock in milliseconds. */
  readonly #learnt = new Map<Call["isolate"], Map<string, number>>();

  /** A call is answered, or never will be. What it learnt it had learnt by then. */
  ends({ call, hash, wasGood }: Visit): void {
    if (hash === undefined || call.isolate === undefined) return;
    const known = this.#learnt.get(call.isolate) ?? new Map<string, number>();
    this.#learnt.set(call.isolate, known);
    if (wasGood) known.set(hash, call.isolate.clockMs);
    else if (call.answer?.status === 401 && !mayBeDown(call, "main")) known.delete(hash);
  }

  /** @param open all calls at the door: one of the same isolate may have learnt of the token meanwhile */
  mayKnow(call: Call, hash: string | undefined, open: Iterable<Visit>): boolean {
    if (hash === undefined) return false;
    const learnt = this.#learnt.get(call.isolate)?.get(hash) ?? 0;
    if (learnt + REMEMBERED_MS > call.clockMs) return true;
    return [...open].some((other) => other.wasGood && other.hash === hash && other.call.isolate === call.isolate);
  }
}
