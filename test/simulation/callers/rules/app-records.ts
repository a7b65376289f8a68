import type { Violate } from "../../checker/violate.ts";
import type { Row, RowChange as StoredChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";

/** @param isAlone whether there is no previous secret */
const nameOf = (appid: unknown, version: unknown, revokedAt: unknown, isAlone: boolean) =>
  `${appid} with ${version}${revokedAt === null ? "" : ", revoked"}${isAlone ? ", without a previous secret" : ""}`;

/** Checks that KV receives the new record of each app that a call has changed. */
export class AppRecords {
  /** Whether KV stores every put in this seed. */
  isKept = false;
  readonly #violate: Violate;
  /** The names of the records that KV has received. */
  readonly #put = new Set<string>();
  /** The name of the record that each call must put into KV, while work of the call is in flight. */
  readonly #records = new Map<Call, string>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  /** Checks a changed row: a copy of the database must not hold an ended secret. */
  changes({ table, after }: StoredChange): void {
    if ((table !== "apps" && table !== "webhooks") || after === null) return;
    if ((after.previous_version == null) === (after.previous_secret == null)) return;
    const name = String(after.appid ?? after.id);
    this.#violate("no row holds an ended secret", `${name}: ${JSON.stringify(after)}`, [name]);
  }

  /** Notes that an answered call has changed an app, so the app's record must reach KV. */
  expect(call: Call, { appid, version, revoked_at, previous_version }: Row): void {
    this.#records.set(call, nameOf(appid, version, revoked_at, previous_version === null));
  }

  /** Checks that the record has reached KV, when all work of the call has ended. */
  isOver(call: Call): void {
    const record = this.#records.get(call);
    if (!this.#records.delete(call) || !("CREDENTIALS" in (call.isolate?.env ?? {}))) return;
    const isPut = call.trips.some(({ to }) => to === "CREDENTIALS put");
    if (isPut && (!this.isKept || this.#put.has(String(record)))) return;
    this.#violate("KV receives the record of each changed app", `${call.name}: ${record}`, [call.name]);
  }

  /** Notes a record of an app that KV has received. */
  put(text: string): void {
    const { appid, version, previousVersion, revokedAt } = JSON.parse(text) as Record<string, unknown>;
    this.#put.add(nameOf(appid, version, revokedAt, false));
    if (previousVersion === null) this.#put.add(nameOf(appid, version, revokedAt, true));
  }
}
