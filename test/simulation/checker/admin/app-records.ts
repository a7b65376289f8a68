import { EPOCH } from "../../machine/program.ts";
import type { Row } from "../../platform/database.ts";
import type { KvTruth } from "../../platform/kv.ts";
import type { Call } from "../../world/call.ts";
import type { Violate } from "../violate.ts";

/** Milliseconds after which KV must have received a record, even when KV is slow. */
const RECORD_LATE_MS = 10_000;

/** docs/operating.md, "Restoring a home": KV keeps an app's record for a day after a change. */
const KEPT_MS = 86_400_000;

/** An answered change of an app, whose record KV has not received yet. */
interface Change {
  call: Call;
  appid: string;
  version: string;
  revoked: boolean;
  /** Whether the record must be without a previous secret. */
  isAlone: boolean;
}

/** Checks that KV receives the new record of each app that a call has changed. */
export class AppRecords {
  /** The content of KV; undefined while nobody compares it. */
  kv: KvTruth | undefined;
  /** Whether this seed's KV keeps everything that is put. */
  isKept = false;
  readonly #violate: Violate;
  #awaited: Change[] = [];
  /** The app that each call has changed, while work of the call is in flight. */
  readonly #changed = new Map<Call, string>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  /** A call that changed an app was answered: its record must reach KV. */
  expect(call: Call, { appid, version, revoked_at, previous_version }: Row): void {
    this.#changed.set(call, String(appid));
    if (!this.isKept) return;
    const [revoked, isAlone] = [revoked_at !== null, previous_version === null];
    this.#awaited.push({ call, appid: String(appid), version: String(version), revoked, isAlone });
  }

  /** All work of the call has ended. */
  isOver(call: Call): void {
    const appid = this.#changed.get(call);
    if (!this.#changed.delete(call) || !("CREDENTIALS" in (call.isolate?.env ?? {}))) return;
    if (call.trips.some(({ to }) => to === "CREDENTIALS put")) return;
    this.#violate("KV receives the record of each changed app", `${call.name}: ${appid}`, [call.name, String(appid)]);
  }

  /** KV received a record of an app. Records that have been due for a while must have arrived by now. */
  put(text: string, now: number): void {
    const record = JSON.parse(text) as {
      appid: string;
      version: string;
      previousVersion: string | null;
      revokedAt: number | null;
    };
    const { expiresAt = 0 } = this.kv?.get(`app:${record.appid}`) ?? {};
    if (Math.abs(expiresAt - EPOCH - now - KEPT_MS) > 1_000) {
      this.#violate("KV remembers an app for a day", `${record.appid} until ${expiresAt}`, [record.appid]);
    }
    this.#awaited = this.#awaited.filter(
      ({ call, appid, version, revoked, isAlone }) =>
        !call.wasEnded &&
        (appid !== record.appid ||
          version !== record.version ||
          revoked !== (record.revokedAt !== null) ||
          (isAlone && record.previousVersion !== null)),
    );
    const late = this.#awaited.find(({ call }) => now - (call.answeredAt ?? now) > RECORD_LATE_MS);
    if (late === undefined) return;
    const { call, appid } = late;
    this.#violate("KV gets the new record of each app that is changed", `${call.name}: ${appid}`, [call.name, appid]);
  }
}
