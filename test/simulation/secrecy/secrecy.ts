import { mismatch } from "../callers/rules/answers.ts";
import type { Violate } from "../checker/violate.ts";
import { CALLS_EVENT_TYPES } from "../operations/index.ts";
import type { RowChange } from "../platform/database.ts";
import type { Call } from "../world/call.ts";
import { ADMIN_TOKEN } from "../world/cloud/settings.ts";
import { callersTexts } from "./callers-texts.ts";

/**
 * Texts that no log and no answer of a signed call may contain: signatures, secrets, the master key, and the words with
 * which the simulation's names, messages and Idempotency-Keys begin.
 */
const CONFIDENTIAL = new RegExp(
  `[0-9a-fA-F]{64}|imported-|${ADMIN_TOKEN}|[A-Za-z0-9+/]{43}=|Customer |customer_\\d|Order |order-`,
);

/** Words with which the simulation's persons, their messages and the keys of calls begin, and the addresses of persons. */
const OF_PERSONS = /Customer |customer_\d|Order |order-|203\.0\.113\.7|2001:db8::17|198\.51\.100\.200/;

/** Hashes that KV may hold: of a nonce, and the keyed hashes of a customer or of a site's end. */
const HASHES = /\b(?:nonce:|[0-9a-f]{8}\.)[0-9a-f]{64}\b/g;

/** Texts of webhooks that no log may contain: secrets, URLs, bodies and receivers' answers. */
const OF_WEBHOOKS = new RegExp(
  `whsec_|https?://|hook-token|${CALLS_EVENT_TYPES.join("|").replaceAll(".", "\\.")}|HTTP \\d{3}|no answer in 15 s|cannot use|oops`,
);

/** Words from receivers' answers: docs/operating/webhooks.md, "Seeing what fails". */
const OF_RECEIVERS = /HTTP \d{3}|cannot use |\boops\b/;

/** Checks that answers, logs and the journal contain nothing confidential. */
export class Secrecy {
  readonly #violate: Violate;
  /** The secret of each version of an app or a webhook. */
  readonly #secrets: ReadonlyMap<string, string>;
  /**
   * The one refusal for callers who cannot sign, by the deployment's error status and the form of the signature. It
   * must not depend on the digits of the signature.
   */
  readonly #refusals = new Map<string, string>();

  constructor(violate: Violate, secrets: ReadonlyMap<string, string>) {
    this.#violate = violate;
    this.#secrets = secrets;
  }

  checkLog(call: Call | undefined, line: string, record: object): void {
    const [match] = CONFIDENTIAL.exec(line) ?? OF_WEBHOOKS.exec(line) ?? [];
    if (match !== undefined) this.#violate("no log holds anything confidential", `${match} in: ${line}`, []);
    if (call === undefined || call.wire.method !== "POST" || call.role === "operator") return;
    const recordText = JSON.stringify({ ...record, request_id: "", appid: "" });
    for (const text of callersTexts(call.wire)) {
      if (!recordText.includes(text)) continue;
      this.#violate("no log holds a caller's text", `${call.name} ${text}: ${recordText}`, [call.name]);
    }
  }

  /** Checks that changed rows have receivers' words only where they belong. */
  checkRows(call: Call | undefined, changes: readonly RowChange[]): void {
    const about = call === undefined ? [] : [call.name];
    const wrongRow = changes.find(({ table, after }) =>
      Object.entries(after ?? {}).some(
        ([column, value]) => OF_RECEIVERS.test(String(value)) && !(table === "deliveries" && column === "last_error"),
      ),
    );
    if (wrongRow !== undefined) {
      const rule = "a receiver's words are stored only in the delivery that they answer";
      this.#violate(rule, JSON.stringify(wrongRow), about);
    }
    for (const { table, after } of changes) {
      if (table !== "refusals" || after === null) continue;
      const [match] = CONFIDENTIAL.exec(JSON.stringify(after)) ?? [];
      if (match === undefined) continue;
      this.#violate("the journal holds no caller's text", `${match} in: ${JSON.stringify(after)}`, about);
    }
  }

  /** Checks a text that KV or a queue takes. It may hold sealed secrets and hashes. */
  checkKept(where: string, text: string): void {
    const textWithoutHashes = text.replaceAll(HASHES, "");
    const [match = [...this.#secrets.values()].find((secret) => textWithoutHashes.includes(secret))] =
      OF_PERSONS.exec(textWithoutHashes) ?? CONFIDENTIAL.exec(textWithoutHashes) ?? [];
    if (match !== undefined) {
      const rule = "neither KV nor a queue ever holds a secret or a person's text";
      this.#violate(rule, `${match} in ${where}: ${text}`, []);
    }
  }

  checkAnswer(call: Call): void {
    const { answer, isolate } = call;
    if (answer === undefined || isolate === undefined) return;
    const headers = [...answer.headers].filter(([name]) => name !== "x-request-id").sort();
    const text = JSON.stringify([answer.status, headers, answer.body]);
    const [match] = CONFIDENTIAL.exec(text) ?? [];
    if (match !== undefined) {
      this.#violate("no answer holds anything confidential", `${call.name} was told ${match} in ${text}`, [call.name]);
    }
    if (mismatch(call, answer, { kind: "unsigned" }) !== undefined) return;
    const form = (call.wire.headers["x-chat-signature"] ?? "").replace(/[0-9a-f]/gi, "f");
    const key = `${isolate.settings.errorStatus} ${form}`;
    const knownText = this.#refusals.get(key) ?? text;
    this.#refusals.set(key, knownText);
    if (knownText === text) return;
    const rule = "an unknown appid, a revoked app and a wrong signature get one and the same answer";
    this.#violate(rule, `${call.name} was answered ${text}, another ${knownText}`, [call.name]);
  }
}
