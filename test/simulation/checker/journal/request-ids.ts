import type { Change } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Violate } from "../violate.ts";
import { timeOf } from "./request-time.ts";

/** docs/operating.md, "Refused calls": one id names a call in its answer and in everything that it writes. */
export class RequestIds {
  readonly #violate: Violate;
  /** The x-request-id of every answer so far. */
  readonly #answered = new Set<string>();
  /** The id that each call has written. */
  readonly #written = new Map<Call, string>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  checkAnswer(call: Call): void {
    const { name, wire, answer } = call;
    const id = answer?.headers.get("x-request-id") ?? "none";
    if (id === "none" || id === wire.headers["x-request-id"] || this.#answered.has(id)) {
      this.#violate("each answer has an x-request-id of its own, made here", `${name} got ${id}`, [name, id]);
    }
    this.#answered.add(id);
    const at = timeOf(id);
    if (at !== call.clockMs) {
      const what = `${name} got ${id} of ${at}, it came at ${call.clockMs}`;
      this.#violate("a request id is a UUIDv7 that begins with the time at which the call came", what, [name, id]);
    }
    this.#compare(call, id);
  }

  /** A call has changed rows; undefined for a hand at the database. */
  checkWritten(call: Call | undefined, changes: readonly Change[]): void {
    if (call === undefined) return;
    const isOwnWork = call.role === "cron" || call.role === "queue";
    for (const { table, before, after } of changes) {
      if (table === "sessions" && before !== null && after !== null && before.request_id !== after.request_id) {
        const what = `${call.name}: ${JSON.stringify(after)}`;
        this.#violate("a session keeps the id of the call that opened it", what, [call.name]);
      }
      const isNew = before === null && (table === "sessions" || table === "audit_log");
      if (after === null || (!isNew && table !== "nonces")) continue;
      const id = (table === "nonces" ? after.owner : after.request_id) ?? null;
      if (isOwnWork && id !== null) {
        const what = `${call.name} wrote ${JSON.stringify(after)}`;
        this.#violate("the Worker's own work has no request id", what, [call.name]);
      }
      if (!isOwnWork) this.#compare(call, String(id));
    }
  }

  /** What a call writes must have the id of its answer, whichever of the two comes first. */
  #compare(call: Call, id: string): void {
    const known = this.#written.get(call) ?? call.answer?.headers.get("x-request-id") ?? id;
    this.#written.set(call, known);
    if (known === id && timeOf(id) === call.clockMs) return;
    this.#violate("what a call writes has its request id", `${call.name}: ${id}, not ${known}`, [call.name, id]);
  }
}
