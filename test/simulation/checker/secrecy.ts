import { CALLS_EVENT_TYPES } from "../operations/index.ts";
import type { Change } from "../platform/database.ts";
import type { Call } from "../world/call.ts";
import { tokenIn } from "./door/token-text.ts";
import { mismatch } from "./signed/answers.ts";
import type { Violate } from "./violate.ts";

/**
 * Texts that no log and no answer of a signed call may contain: signatures, secrets, the master key, and the words with
 * which the simulation's names, messages and Idempotency-Keys begin.
 */
const CONFIDENTIAL = /[0-9a-fA-F]{64}|imported-|simulated-admin|[A-Za-z0-9+/]{43}=|Customer |customer_\d|Order |order-/;

/** Texts of webhooks that no log may contain: secrets, URLs, bodies and receivers' answers. */
const OF_WEBHOOKS = new RegExp(
  `whsec_|https?://|hook-token|${CALLS_EVENT_TYPES.join("|").replaceAll(".", "\\.")}|HTTP \\d{3}|no answer in 15 s|cannot use|oops`,
);

/** Words of receivers: docs/operating.md, "Seeing what fails". */
const OF_RECEIVERS = /HTTP \d{3}|cannot use |\boops\b/;

const TOKEN_RULE = "a token is in no row, in no log, and in no answer but the one that gives it out";

/** Checks that answers and logs contain nothing confidential. */
export class Secrecy {
  readonly #violate: Violate;
  /**
   * The one refusal for callers who cannot sign, by the deployment's error status and the form of the signature. The
   * digits of a signature must make no difference.
   */
  readonly #refusals = new Map<string, string>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  checkLog(line: string): void {
    const token = tokenIn(line);
    if (token !== undefined) this.#violate(TOKEN_RULE, `${token} in: ${line}`, []);
    const [found] = CONFIDENTIAL.exec(line) ?? OF_WEBHOOKS.exec(line) ?? [];
    if (found !== undefined) this.#violate("no log holds anything confidential", `${found} in: ${line}`, []);
  }

  /** Rows that were changed. */
  checkRows(call: Call | undefined, changes: readonly Change[]): void {
    const about = call === undefined ? [] : [call.name];
    const found = tokenIn(JSON.stringify(changes));
    if (found !== undefined) this.#violate(TOKEN_RULE, found, about);
    const said = changes.find(({ table, after }) =>
      Object.entries(after ?? {}).some(
        ([column, value]) => OF_RECEIVERS.test(String(value)) && !(table === "deliveries" && column === "last_error"),
      ),
    );
    if (said !== undefined) {
      const rule = "a receiver's words stand in the delivery that they answer, and nowhere else";
      this.#violate(rule, JSON.stringify(said), about);
    }
  }

  /** The answer to a call of the admin API. */
  checkShown({ name, wire, answer }: Call): void {
    if (wire.method === "POST" && wire.path === "/admin/tokens" && answer?.status === 201) return;
    const found = tokenIn(JSON.stringify([...(answer?.headers ?? []), answer?.body]));
    if (found !== undefined) this.#violate(TOKEN_RULE, `${name} was told ${found}`, [name]);
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
