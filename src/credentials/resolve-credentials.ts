import { ServiceError } from "../errors.ts";
import { type Runtime, sleep, unixSeconds, withinTime } from "../runtime.ts";
import { type AppRecord, findApp } from "../store/directory/apps.ts";
import { TRY_LIMIT_MS } from "../store/run-batch.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type Credentials, openCredentials } from "./open-secrets.ts";
import { importKeyring, isBoundToVersion, type Keyring, UnsealError } from "./sealed-secret.ts";

export type Source = "isolate" | "kv" | "d1";

/** What is known of an app, and who said so. */
export interface Found {
  credentials: Credentials;
  source: Source;
}

/** How one request may look credentials up. */
export interface LookUp {
  waitUntil: (work: Promise<unknown>) => void;
  /** By when D1 must have answered, in milliseconds of the runtime's `elapsed`. */
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
const KV_TIMEOUT_MS = 50;
const REFRESH_PAUSE_MS = 5_000;
const CONFIRMS_PER_SECOND = 10;
/** How often a request looks whether another's refresh has ended. */
const REFRESH_LOOK_MS = 5;

/**
 * Credentials of apps: isolate → KV → D1, read-through. Staleness is harmless: the batch gates every accepted request on the
 * app's row, and what fails on a cached record is tried once more on a fresh one. Holds no promise or stream between requests,
 * only plain values and keys.
 */
export class CredentialResolver {
  readonly #runtime: Runtime;
  readonly #telemetry: Telemetry;
  readonly #cached = new Map<string, { credentials: Credentials; until: number }>();
  readonly #refreshedInVain = new Map<string, number>();
  /** What a request of this isolate is refreshing, and until when that is believed: a request may be cut off. */
  readonly #refreshing = new Map<string, number>();
  readonly #confirmed = new Map<string, { second: number; signatures: Set<string> }>();
  readonly #keyrings = new WeakMap<object, Keyring>();

  constructor(runtime: Runtime, telemetry: Telemetry) {
    this.#runtime = runtime;
    this.#telemetry = telemetry;
  }

  async keyring(bindings: CredentialBindings): Promise<Keyring> {
    const known = this.#keyrings.get(bindings.masterKeys);
    if (known !== undefined) return known;
    const keyring = await importKeyring(bindings.masterKeys);
    this.#keyrings.set(bindings.masterKeys, keyring);
    return keyring;
  }

  /** What this isolate believes without asking anyone. */
  cached(appid: string): Found | undefined {
    const cached = this.#cached.get(appid);
    return cached !== undefined && cached.until > this.#runtime.now() ? this.known(appid) : undefined;
  }

  /** What this isolate knows, however old: for those whom it will not look up. D1 has the last word on that as well. */
  known(appid: string): Found | undefined {
    const cached = this.#cached.get(appid);
    return cached && { credentials: cached.credentials, source: "isolate" };
  }

  /** What this isolate has learnt since `than` was read; undefined when that is nothing. */
  newer(than: Credentials): Found | undefined {
    const cached = this.cached(than.appid);
    return cached !== undefined && !isSame(cached.credentials, than) ? cached : undefined;
  }

  /**
   * Asks KV, then D1.
   *
   * @throws ServiceError `unavailable` when D1 is needed and does not answer, `internal` when MASTER_KEY does not open the record
   */
  async load(bindings: CredentialBindings, appid: string, lookUp: LookUp): Promise<Found | undefined> {
    if (!APPID.test(appid)) return undefined;
    const fromKv = await this.#readKv(bindings, appid);
    if (fromKv !== undefined) return { credentials: fromKv, source: "kv" };
    return this.#readD1(bindings, appid, lookUp);
  }

  /**
   * Asks D1 past both caches, and sets them right when it says something new.
   *
   * @param than what the caches say
   * @throws as {@link load} does
   */
  reload(bindings: CredentialBindings, than: Credentials, lookUp: LookUp): Promise<Found | undefined> {
    return this.#readD1(bindings, than.appid, lookUp, than);
  }

  /**
   * {@link reload} for a signature that failed on a cached record; undefined when there is nothing newer than `than`. One client's
   * requests for one app share a read, and after a read in vain there is none for them for 5 s: a forger costs D1 little, and
   * holds up nobody at another address.
   *
   * @param client the address that the signature came from
   */
  async refresh(
    bindings: CredentialBindings,
    than: Credentials,
    client: string,
    lookUp: LookUp,
  ): Promise<Found | undefined> {
    const whose = `${than.appid} ${client}`;
    const isUnderWay = () =>
      (this.#refreshing.get(whose) ?? 0) > this.#runtime.now() && this.#runtime.elapsed() < lookUp.answerBy;
    while (isUnderWay()) await sleep(this.#runtime, REFRESH_LOOK_MS);
    const meanwhile = this.newer(than);
    if (meanwhile !== undefined) return meanwhile;
    if (this.#runtime.now() < (this.#refreshedInVain.get(whose) ?? 0) + REFRESH_PAUSE_MS) return undefined;
    remember(this.#refreshing, whose, this.#runtime.now() + TRY_LIMIT_MS);
    try {
      const fresh = await this.reload(bindings, than, lookUp);
      if (fresh !== undefined && !isSame(fresh.credentials, than)) return fresh;
    } finally {
      this.#refreshing.delete(whose);
    }
    remember(this.#refreshedInVain, whose, this.#runtime.now());
    return undefined;
  }

  /**
   * {@link reload} for a request that is refused anyway: at most once in a second for one signature and ten times for one app, so
   * that no captured request keeps D1 busy; past that `than` is believed.
   */
  async confirm(
    bindings: CredentialBindings,
    than: Credentials,
    signature: string,
    lookUp: LookUp,
  ): Promise<Found | undefined> {
    const digits = signature.toLowerCase();
    const second = Math.floor(this.#runtime.now() / 1000);
    const asked = this.#confirmed.get(than.appid);
    const signatures = asked?.second === second ? asked.signatures : new Set<string>();
    if (signatures.has(digits) || signatures.size >= CONFIRMS_PER_SECOND)
      return { credentials: than, source: "isolate" };
    // Before the answer is here: requests that come at once share the one.
    remember(this.#confirmed, than.appid, { second, signatures: signatures.add(digits) });
    return this.reload(bindings, than, lookUp);
  }

  /** Drops what is cached of an app after a change, here at once and in KV soon. */
  forget(bindings: CredentialBindings, appid: string, waitUntil: (work: Promise<unknown>) => void): void {
    this.#cached.delete(appid);
    waitUntil(dropKv(bindings.credentials, appid, this.#telemetry));
  }

  async #readKv(bindings: CredentialBindings, appid: string): Promise<Credentials | undefined> {
    const { credentials: kv } = bindings;
    if (kv === undefined) return undefined;
    try {
      const record = await withinTime(
        this.#runtime,
        KV_TIMEOUT_MS,
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
    than?: Credentials,
  ): Promise<Found | undefined> {
    const record = await findApp(this.#runtime, bindings.directory, appid, answerBy);
    if (record === null) {
      this.#cached.delete(appid);
      if (than !== undefined) waitUntil(dropKv(bindings.credentials, appid, this.#telemetry));
      return undefined;
    }
    let credentials: Credentials;
    try {
      credentials = await this.#open(bindings, record);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      throw new ServiceError("internal", { reason: "master_key_wrong", cause: error });
    }
    const believed = this.#cached.get(appid)?.credentials ?? than;
    if (believed === undefined || !isSame(credentials, believed))
      waitUntil(writeKv(bindings.credentials, record, this.#telemetry));
    return { credentials: this.#keep(credentials), source: "d1" };
  }

  async #open(bindings: CredentialBindings, record: AppRecord): Promise<Credentials> {
    return openCredentials(await this.keyring(bindings), record, unixSeconds(this.#runtime));
  }

  #keep(credentials: Credentials): Credentials {
    remember(this.#cached, credentials.appid, { credentials, until: this.#runtime.now() + CACHED_MS });
    return credentials;
  }
}

/** Whether two records would judge every signature alike. */
function isSame(a: Credentials, b: Credentials): boolean {
  const gist = ({ siteId, revoked, keys }: Credentials) =>
    JSON.stringify([siteId, revoked, keys.map(({ version, expiresAt }) => [version, expiresAt])]);
  return gist(a) === gist(b);
}

const kvKey = (appid: string) => `app:${appid}`;

async function writeKv(kv: KVNamespace | undefined, record: AppRecord, telemetry: Telemetry): Promise<void> {
  try {
    await kv?.put(kvKey(record.appid), JSON.stringify(record), { expirationTtl: KV_TTL_SECONDS });
  } catch {
    telemetry.warn({ warning: "CREDENTIALS did not take a record: D1 is asked again", appid: record.appid });
  }
}

async function dropKv(kv: KVNamespace | undefined, appid: string, telemetry: Telemetry): Promise<void> {
  try {
    await kv?.delete(kvKey(appid));
  } catch {
    telemetry.warn({ warning: "CREDENTIALS did not drop a record: D1 gates it all the same", appid });
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
    typeof record.version === "string" &&
    isBoundToVersion(record.secret) &&
    (record.previousVersion === null || typeof record.previousVersion === "string") &&
    (record.previousSecret === null || isBoundToVersion(record.previousSecret)) &&
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
