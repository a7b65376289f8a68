import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Model } from "../model.ts";
import type { Violate } from "../violate.ts";
import { hasForm } from "./token-text.ts";
import { bearerOf, hashBy, isRoot, NOBODY, networkOf, whoIs } from "./visitor.ts";

/** What the door writes after an answer: docs/operating.md, "The audit log" and "Tokens". */

const NOTES = ["operator.refused", "root.read"];
const HOUR = 3_600;
/** A row tells of a minute. The call that writes it may have waited for the directory for so long. */
const REFUSED_SECONDS = 60 - 10;
/** How many of the newest rows are searched for an earlier read of the root. */
const ROWS_SEARCHED = 1_000;

const isUse = ({ table, before, after }: Change): boolean =>
  table === "admin_tokens" && before !== null && after !== null && before.last_used_at !== after.last_used_at;

/** Whether the changes of a transaction are of the door itself, and of no operator's change. */
export const isNote = (changes: readonly Change[]): boolean =>
  changes.every((change) => isUse(change) || NOTES.includes(String(change.after?.action)));

interface Refused {
  /** Calls with a token that may have been refused. */
  calls: Set<Call>;
  /** What the rows of the audit log count, and the calls that wrote them. */
  told: { by: Call; count: number }[];
  /** The time of the newest row. */
  at: number;
}

/** Checks the rows about refused tokens and the root's reads, and the last use of each token. */
export class Notes {
  readonly #model: Model;
  readonly #violate: Violate;
  /** By isolate. */
  readonly #refused = new Map<Call["isolate"], Refused>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
  }

  /** A call with a token may be refused by now. */
  mayRefuse(call: Call): void {
    this.#refusedBy(call).calls.add(call);
  }

  check(home: string, call: Call, changes: readonly Change[]): void {
    const about = [call.name];
    for (const change of changes) {
      const row = change.after as Row;
      const what = `${call.name} at ${home}: ${JSON.stringify(change)}`;
      if (home !== "main" || changes.length > 1) {
        this.#violate("the door writes single rows of the directory", what, about);
      } else if (isUse(change)) {
        const wrong = this.#wrongUse(call, change);
        if (wrong) this.#violate("last_used_at is an hour in which the token was used", `${what}: ${wrong}`, about);
      } else if (row.action === "root.read") this.#checkRead(call, row, what);
      else this.#checkRefused(call, row, what);
    }
  }

  #wrongUse(call: Call, { before, after }: Change): string | undefined {
    const { last_used_at: hour, ...rest } = after as Row;
    const { last_used_at: earlier, ...same } = before as Row;
    if (JSON.stringify(rest) !== JSON.stringify(same)) return "it changes something else";
    if (after?.hash !== hashBy(call)) return "another token was used";
    if (hour !== call.clock - (call.clock % HOUR)) return `it was used at ${call.clock}`;
    return Number(earlier ?? 0) >= Number(hour) ? "it goes back" : undefined;
  }

  #checkRead(call: Call, row: Row, what: string): void {
    const isOne = isRoot(call) && call.wire.method === "GET";
    if (!isOne || !isBy(row, call, whoIs(call, undefined)) || row.details !== "{}" || row.subject !== "") {
      this.#violate("a row tells of a read by the root, and of nothing else", what, [call.name]);
    }
    const hourOf = ({ at }: Row) => Math.floor(Number(at) / HOUR);
    const { audit } = this.#model.home("main");
    const again = [...audit.values()].find(
      (each) =>
        each.action === "root.read" &&
        each.address === row.address &&
        Number(each.id) > Number(row.id) - ROWS_SEARCHED &&
        hourOf(each) === hourOf(row),
    );
    if (again !== undefined) {
      this.#violate("the root's reads leave one row an hour and network", `${what} after ${again.id}`, [call.name]);
    }
  }

  #checkRefused(call: Call, row: Row, what: string): void {
    const { calls, told, at } = this.#refusedBy(call);
    const { reason, count, ...more } = JSON.parse(String(row.details)) as { reason: string; count: number };
    const isWhole = row.subject === "" && Object.keys(more).length === 0 && count > 0;
    if (!calls.has(call) || !isBy(row, call, NOBODY) || !isWhole || !this.#reasonsOf(call).includes(reason)) {
      this.#violate("a row tells of a refused token, and of nobody", what, [call.name]);
    }
    if (Number(row.at) < at + REFUSED_SECONDS) {
      this.#violate("refused tokens leave one row a minute and isolate", `${what}, and one at ${at}`, [call.name]);
    }
    // A call that did not hear that its row was written gives its count back, and the next row has it again.
    const heard = told.reduce((sum, each) => sum + (each.by.faults.length === 0 ? each.count : 0), 0);
    if (heard + count > calls.size) {
      const more = `${what}: ${heard} were told before, of ${calls.size}`;
      this.#violate("no more refused tokens are counted than there were", more, [call.name]);
    }
    this.#refused.set(call.isolate, { calls, told: [...told, { by: call, count }], at: Number(row.at) });
  }

  /** Why the token of a call may be refused. */
  #reasonsOf(call: Call): string[] {
    const token = bearerOf(call) ?? "";
    if (token.startsWith("ast_") && !hasForm(token)) return ["token_slip"];
    const { expires_at } = this.#model.tokensByHash.get(hashBy(call) ?? "") ?? {};
    const isExpired = expires_at != null && Number(expires_at) <= call.clock;
    // A token that was deleted too is as wrong as one that never was.
    const reasons = isExpired ? ["token_expired", "admin_token_wrong"] : ["admin_token_wrong"];
    // When an address has failed too often, nobody may have looked at the token.
    return call.answer?.status === 429 ? [...reasons, "client_limit"] : reasons;
  }

  #refusedBy({ isolate }: Call) {
    const refused: Refused = this.#refused.get(isolate) ?? { calls: new Set(), told: [], at: 0 };
    this.#refused.set(isolate, refused);
    return refused;
  }
}

const isBy = (row: Row, call: Call, who: object): boolean => {
  const by = { ...who, actor: "admin-api", at: call.clock, site_id: null, address: networkOf(call) };
  return Object.entries(by).every(([column, value]) => row[column] === value);
};
