import { Refusal } from "../errors.ts";
import { importKey } from "../signing/import-key.ts";
import { type AppRecord, findApp } from "../store/apps.ts";
import { withinTime } from "../time-limit.ts";
import { importKeyring, type Keyring, type Slot, UnsealError, unseal } from "./sealed-secret.ts";

/** What verifies an app's requests. */
export interface Credentials {
  appid: string;
  siteId: number;
  /** Which secret is the current one; the previous one is `version - 1`. */
  version: number;
  revoked: boolean;
  keys: { slot: Slot; key: CryptoKey /** Unix seconds. */; expiresAt: number }[];
}

export type Source = "isolate" | "kv" | "d1";

/** How one request may look credentials up. */
export interface LookUp {
  waitUntil: (work: Promise<unknown>) => void;
  /** Runs before D1 is asked about an appid or a signature that no cache knows, and may throw to prevent it. */
  beforeDatabase: () => Promise<void>;
  /** By when D1 must have answered, in milliseconds since the epoch. */
  answerBy: number;
}

export interface CredentialBindings {
  directory: D1Database;
  credentials: KVNamespace | undefined;
  masterKeys: Parameters<typeof importKeyring>[0];
}

/** The appids this service issues or takes over. Anything else is unknown without asking anyone. */
export const APPID = /^[A-Za-z0-9_-]{1,64}$/;

const CACHED_APPS = 1_000;
const CACHED_MS = 300_000;
const KV_TTL_SECONDS = 86_400;
/** A cold look-up gives KV this long before it asks D1. */
const KV_PATIENCE_MS = 50;
const REFRESH_PAUSE_MS = 5_000;

/**
 * Credentials of apps: isolate → KV → D1, read-through. Staleness is harmless: the batch gates every accepted request on the
 * app's row, and a signature that fails on a cached record is tried once more on a fresh one. Holds no promise or stream between
 * requests, only plain values and keys.
 */
export class CredentialResolver {
  readonly #now: () => number;
  readonly #cached = new Map<string, { credentials: Credentials; until: number }>();
  readonly #refreshedInVain = new Map<string, number>();
  readonly #keyrings = new WeakMap<object, Keyring>();

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  async keyring(bindings: CredentialBindings): Promise<Keyring> {
    const known = this.#keyrings.get(bindings.masterKeys);
    if (known !== undefined) return known;
    const keyring = await importKeyring(bindings.masterKeys);
    this.#keyrings.set(bindings.masterKeys, keyring);
    return keyring;
  }

  /**
   * @throws Refusal `unavailable` when D1 is needed and does not answer, `internal` when MASTER_KEY does not open the record
   */
  async resolve(
    bindings: CredentialBindings,
    appid: string,
    lookUp: LookUp,
  ): Promise<{ credentials: Credentials; source: Source } | undefined> {
    if (!APPID.test(appid)) return undefined;
    const cached = this.#cached.get(appid);
    if (cached !== undefined && cached.until > this.#now())
      return { credentials: cached.credentials, source: "isolate" };
    const fromKv = await this.#readKv(bindings, appid);
    if (fromKv !== undefined) return { credentials: fromKv, source: "kv" };
    // An isolate that knew the app a while ago still knows that it is no invention.
    if (cached === undefined) await lookUp.beforeDatabase();
    const fromD1 = await this.#readD1(bindings, appid, lookUp);
    return fromD1 && { credentials: fromD1, source: "d1" };
  }

  /**
   * A fresh D1 read for a signature that failed on a cached record; undefined when there is nothing newer than `than`. After a read in
   * vain there is none for this appid for 5 s, and `beforeDatabase` bounds those who forge many at once, so forgers cost D1 little.
   */
  async refresh(bindings: CredentialBindings, than: Credentials, lookUp: LookUp): Promise<Credentials | undefined> {
    const { appid, version } = than;
    if (this.#now() < (this.#refreshedInVain.get(appid) ?? 0) + REFRESH_PAUSE_MS) return undefined;
    await lookUp.beforeDatabase();
    const fresh = await this.#readD1(bindings, appid, lookUp);
    if (fresh !== undefined && (fresh.version !== version || fresh.revoked)) return fresh;
    remember(this.#refreshedInVain, appid, this.#now());
    return undefined;
  }

  /** Drops what is cached of an app, here at once and in KV soon, after a change or when the batch found it stale. */
  forget(bindings: CredentialBindings, appid: string, waitUntil: (work: Promise<unknown>) => void): void {
    this.#cached.delete(appid);
    this.#refreshedInVain.delete(appid);
    waitUntil(dropKv(bindings.credentials, appid));
  }

  async #readKv(bindings: CredentialBindings, appid: string): Promise<Credentials | undefined> {
    const { credentials: kv } = bindings;
    if (kv === undefined) return undefined;
    try {
      const record = await withinTime(
        KV_PATIENCE_MS,
        () => kv.get(kvKey(appid), "json"),
        () => null,
      );
      return isRecordOf(appid, record) ? this.#keep(await this.#open(bindings, record)) : undefined;
    } catch {
      // KV is down, slow, holds garbage or a record sealed with a master key since retired: D1 knows better.
      return undefined;
    }
  }

  async #readD1(
    bindings: CredentialBindings,
    appid: string,
    { waitUntil, answerBy }: LookUp,
  ): Promise<Credentials | undefined> {
    const record = await findApp(bindings.directory, appid, answerBy);
    if (record === null) {
      this.#cached.delete(appid);
      return undefined;
    }
    let credentials: Credentials;
    try {
      credentials = await this.#open(bindings, record);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      throw new Refusal("internal", { reason: "master_key_wrong", cause: error });
    }
    waitUntil(writeKv(bindings.credentials, record));
    return this.#keep(credentials);
  }

  async #open(bindings: CredentialBindings, record: AppRecord): Promise<Credentials> {
    const { appid, siteId, version } = record;
    const credentials: Credentials = { appid, siteId, version, revoked: record.revokedAt !== null, keys: [] };
    if (credentials.revoked) return credentials;
    const keyring = await this.keyring(bindings);
    const open = async (slot: Slot, sealed: string, expiresAt: number) => {
      credentials.keys.push({ slot, key: await importKey(await unseal(keyring, appid, slot, sealed)), expiresAt });
    };
    await open("current", record.secret, Number.POSITIVE_INFINITY);
    const overlapEnd = record.previousExpiresAt ?? 0;
    if (record.previousSecret !== null && overlapEnd * 1000 > this.#now()) {
      await open("previous", record.previousSecret, overlapEnd);
    }
    return credentials;
  }

  #keep(credentials: Credentials): Credentials {
    remember(this.#cached, credentials.appid, { credentials, until: this.#now() + CACHED_MS });
    return credentials;
  }
}

const kvKey = (appid: string) => `app:${appid}`;

async function writeKv(kv: KVNamespace | undefined, record: AppRecord): Promise<void> {
  try {
    await kv?.put(kvKey(record.appid), JSON.stringify(record), { expirationTtl: KV_TTL_SECONDS });
  } catch {
    console.warn(
      JSON.stringify({ warning: "CREDENTIALS did not take a record: D1 is asked again", appid: record.appid }),
    );
  }
}

async function dropKv(kv: KVNamespace | undefined, appid: string): Promise<void> {
  try {
    await kv?.delete(kvKey(appid));
  } catch {
    console.warn(JSON.stringify({ warning: "CREDENTIALS did not drop a record: D1 gates it all the same", appid }));
  }
}

/** KV's content may be damaged or of an older form; taken for a record, `{}` would pass for a revoked app. */
function isRecordOf(appid: string, value: unknown): value is AppRecord {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Partial<AppRecord>;
  const isTime = (time: unknown) => time === null || Number.isInteger(time);
  return (
    record.appid === appid &&
    Number.isInteger(record.siteId) &&
    Number.isInteger(record.version) &&
    typeof record.secret === "string" &&
    (record.previousSecret === null || typeof record.previousSecret === "string") &&
    isTime(record.previousExpiresAt) &&
    isTime(record.revokedAt)
  );
}

/** Sets and, at the limit, lets the oldest go. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= CACHED_APPS) break;
    map.delete(oldest);
  }
}
