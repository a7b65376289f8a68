import { ServiceError } from "../errors.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { AppRecord } from "./find-app.ts";

/**
 * The records of apps in KV. A change of an app writes its new record. Records are never deleted, because a KV location caches a miss
 * for an hour. An old record is harmless: the gate in the app's home refuses it, and the refused request writes the right record.
 */

const TTL_SECONDS = 86_400;
/** How long a KV location caches a record or a miss. This time is long, so that rare callers find their record cached. */
const CACHE_SECONDS = 3_600;
/** The most keys that KV reads in one call. */
const KEYS_PER_READ = 100;

const keyOf = (appid: string) => `app:${appid}`;

/** The record of an app; undefined when KV is not bound or has no complete record. Rejects when KV fails. */
export async function readRecord(kv: KVNamespace | undefined, appid: string): Promise<AppRecord | undefined> {
  const record = await kv?.get(keyOf(appid), { type: "json", cacheTtl: CACHE_SECONDS });
  return isRecordOf(appid, record) ? withEvents(record) : undefined;
}

/**
 * The records of several apps, without the apps that KV does not have.
 *
 * @throws ServiceError `unavailable` when KV fails
 */
export async function readRecords(kv: KVNamespace | undefined, appids: string[]): Promise<Map<string, AppRecord>> {
  const records = new Map<string, AppRecord>();
  if (kv === undefined) return records;
  const parts: string[][] = [];
  for (let at = 0; at < appids.length; at += KEYS_PER_READ) parts.push(appids.slice(at, at + KEYS_PER_READ));
  // The values are read as text, because with "json" one damaged value would fail the whole call.
  const textsOfParts = Promise.all(parts.map((part) => kv.get(part.map(keyOf), "text")));
  const texts = await textsOfParts.catch((cause: unknown) => {
    throw new ServiceError("unavailable", { reason: "kv_unavailable", detail: "KV does not answer.", cause });
  });
  for (const [i, appid] of appids.entries()) {
    const record = parseText(texts[Math.floor(i / KEYS_PER_READ)]?.get(keyOf(appid)));
    if (isRecordOf(appid, record)) records.set(appid, withEvents(record));
  }
  return records;
}

function parseText(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return undefined;
  }
}

/** Puts a record into KV. For `waitUntil`: never rejects, because a missing record only means that D1 is asked again. */
export async function writeRecord(kv: KVNamespace | undefined, record: AppRecord, telemetry: Telemetry): Promise<void> {
  try {
    await kv?.put(keyOf(record.appid), JSON.stringify(record), { expirationTtl: TTL_SECONDS });
  } catch {
    telemetry.warn({ warning: "CREDENTIALS did not take a record: D1 is asked again", appid: record.appid });
  }
}

/** Fills in `events`, which releases up to 0.1.0 do not write. The gate refuses a wrong guess. */
const withEvents = (record: AppRecord): AppRecord => ({ ...record, events: record.events === true });

/** Whether KV's value is a complete record. A damaged or older value does not count: `{}` would look like a revoked app. */
function isRecordOf(appid: string, value: unknown): value is AppRecord {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Partial<AppRecord>;
  const isText = (text: unknown) => text === null || typeof text === "string";
  const isTime = (time: unknown) => time === null || Number.isInteger(time);
  return (
    record.appid === appid &&
    Number.isInteger(record.siteId) &&
    typeof record.home === "string" &&
    typeof record.version === "string" &&
    typeof record.secret === "string" &&
    isText(record.previousVersion) &&
    isText(record.previousSecret) &&
    isTime(record.previousExpiresAt) &&
    isTime(record.revokedAt)
  );
}
