import { EVENT_TYPES } from "../operations/index.ts";
import type { Call } from "../world/call.ts";
import { mismatch } from "./signed/answers.ts";
import type { Violate } from "./violate.ts";

/**
 * What no log and no answer of a signed call may hold: signatures and secrets, the master key, and the words with which names, messages
 * and Idempotency-Keys of the simulation begin.
 */
const CONFIDENTIAL = /[0-9a-fA-F]{64}|imported-|simulated-admin|[A-Za-z0-9+/]{43}=|Customer |customer_|Order |order-/;

/** What of webhooks no log may hold: secrets, URLs, bodies and what receivers answer. */
const OF_WEBHOOKS = new RegExp(
  `whsec_|https?://|hook-token|${EVENT_TYPES.join("|").replaceAll(".", "\\.")}|HTTP \\d{3}|no answer in 15 s|cannot use|oops`,
);

/** Holds answers and logs against what nobody may learn from them. */
export class Secrecy {
  readonly #violate: Violate;
  /** The one refusal of whoever cannot sign, by the setting of the statuses and the form of the signature: which digits it has is nothing. */
  readonly #refusals = new Map<string, string>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  checkLog(line: string): void {
    const [found] = CONFIDENTIAL.exec(line) ?? OF_WEBHOOKS.exec(line) ?? [];
    if (found !== undefined) this.#violate("no log holds anything confidential", `${found} in: ${line}`, []);
  }

  checkAnswer(call: Call): void {
    const { answer, isolate } = call;
    if (answer === undefined || isolate === undefined) return;
    const headers = [...answer.headers].filter(([name]) => name !== "x-request-id").sort();
    const text = JSON.stringify([answer.status, headers, answer.body]);
    const [found] = CONFIDENTIAL.exec(text) ?? [];
    if (found !== undefined) {
      this.#violate("no answer holds anything confidential", `${call.name} was told ${found} in ${text}`, [call.name]);
    }
    if (mismatch(call, answer, { kind: "unsigned" }) !== undefined) return;
    const form = (call.wire.headers["x-chat-signature"] ?? "").replace(/[0-9a-f]/gi, "f");
    const key = `${isolate.settings.errorStatus} ${form}`;
    const known = this.#refusals.get(key) ?? text;
    this.#refusals.set(key, known);
    if (known === text) return;
    this.#violate(
      "an unknown appid, a revoked app and a wrong signature get one and the same answer",
      `${call.name} was answered ${text}, another ${known}`,
      [call.name],
    );
  }
}
