import type { Change, Row } from "../../platform/database.ts";
import type { HomeModel } from "../home-model.ts";
import { callsOf, isCountedByRow } from "./count-rows.ts";

const nameOf = (row: Row, outcome: unknown): string => JSON.stringify([row.site_id, row.appid, row.operation, outcome]);

/**
 * The calls that were ever made in a home, by site, app, operation and outcome: counted as they come, and not as they are pruned. A
 * restored home begins anew with what it has.
 */
export class Ledger {
  readonly #home: HomeModel;
  readonly #calls: Map<string, number>;

  constructor(home: HomeModel) {
    this.#home = home;
    this.#calls = presentIn(home);
  }

  /** A row is changed. The model does not have the change yet. */
  changes({ table, before, after }: Change, isPruned: boolean): void {
    if (table === "nonces") {
      if (before !== null && before.owner === after?.owner) return;
      if (before !== null && !isPruned) this.#addNonce(before, -1);
      if (after !== null) this.#addNonce(after, 1);
    } else if (table === "refusals" && before === null && after !== null && isCountedByRow(after)) {
      // The nonce of a row that comes very late is gone: nobody can say any more that the call was done.
      this.#addRefusal(after, 1);
    } else if (table === "refusals" && before !== null && after === null && isCountedByRow(before)) {
      const until = this.#home.counts.refusalsUntil;
      // Before counting has begun, rows go uncounted.
      if (until === undefined) this.#addRefusal(before, -1);
    } else if (table === "usage_days" && before !== null && after === null) {
      this.#add(nameOf(before, before.outcome), -Number(before.count));
    } else if (table === "folds" && after !== null && (before?.refusals_until ?? null) === null) {
      // Counting begins: what was refused until then is not counted.
      for (const row of this.#home.refusals.values()) {
        if (Number(row.at) > Number(after.refusals_until ?? 0) || !isCountedByRow(row)) continue;
        this.#addRefusal(row, -1);
      }
    }
  }

  #addNonce(nonce: Row, count: 1 | -1): void {
    if (nonce.operation === null) return;
    this.#add(nameOf(nonce, nonce.outcome), count);
    // A call has a row of the journal and a nonce, and is one call.
    const row = this.#home.refusals.get(String(nonce.owner));
    const isOpen = row !== undefined && isCountedByRow(row) && row.done === null && row.site_id === nonce.site_id;
    if (isOpen) this.#add(nameOf(row, row.reason), -count);
  }

  #addRefusal(row: Row, count: 1 | -1): void {
    const isDone = row.done !== null || this.#nonceOf(row) !== undefined;
    this.#add(nameOf(row, row.reason), count * callsOf({ ...row, done: isDone ? 1 : null }));
  }

  #nonceOf({ site_id, request_id }: Row): Row | undefined {
    const { claims } = this.#home;
    return [...claims.values()].find((each) => each.owner === request_id && each.site_id === site_id);
  }

  #add(name: string, count: number): void {
    this.#calls.set(name, (this.#calls.get(name) ?? 0) + count);
  }

  /** How the stored counts differ from the calls that were made; undefined when they do not. */
  wrong(): string | undefined {
    const present = presentIn(this.#home);
    for (const name of new Set([...present.keys(), ...this.#calls.keys()])) {
      const [siteId] = JSON.parse(name) as [number];
      if (!this.#home.sites.has(siteId) || this.#home.deletions.has(siteId)) continue;
      const [counted, made] = [present.get(name) ?? 0, this.#calls.get(name) ?? 0];
      if (counted !== made) return `${name}: ${counted} are counted, ${made} were made`;
    }
    return undefined;
  }
}

/** What a home has counted, with what it has still to count. */
function presentIn({ counts, claims, refusals }: HomeModel): Map<string, number> {
  const found = new Map<string, number>();
  const add = (name: string, count: number) => found.set(name, (found.get(name) ?? 0) + count);
  for (const table of ["usage", "usage_days"] as const) {
    for (const row of counts.of(table).values()) add(nameOf(row, row.outcome), Number(row.count));
  }
  const owners = new Set<unknown>();
  for (const nonce of claims.values()) {
    if (nonce.operation === null) continue;
    owners.add(`${nonce.site_id}/${nonce.owner}`);
    add(nameOf(nonce, nonce.outcome), 1);
  }
  for (const row of refusals.values()) {
    if (!isCountedByRow(row) || Number(row.at) <= (counts.refusalsUntil ?? -1)) continue;
    const isDone = row.done !== null || owners.has(`${row.site_id}/${row.request_id}`);
    add(nameOf(row, row.reason), callsOf({ ...row, done: isDone ? 1 : null }));
  }
  return found;
}
