import type { Config } from "../config.ts";
import { isRefusedFor, ServiceError } from "../errors.ts";
import { type Runtime, sleep, unixSeconds, withinTime } from "../runtime.ts";
import { TRY_LIMIT_MS } from "../store/run-batch.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type AppRecord, findApp, findAppAgain, findAppElsewhere } from "./find-app.ts";
import { readRecord, writeRecord } from "./kv-records.ts";
import { type Credentials, openCredentials } from "./open-secrets.ts";
import { importKeyring, type Keyring, UnsealError } from "./sealed-secret.ts";

export type Source = "isolate" | "kv" | "d1";

/** An app's credentials, and the layer that they were read from. */
export interface Found {
  credentials: Credentials;
  source: Source;
}

/** What a look-up needs of the request that it serves. */
export interface LookUp {
  waitUntil: (work: Promise<unknown>) => void;
  /** Deadline for D1's answer, in milliseconds of the runtime's `elapsed`. */
  answerBy: number;
}

export type CredentialBindings = Pick<Config, "directory" | "homes" | "closedHomes" | "credentials" | "masterKeys">;

/** The form of appids that this service issues or imports. No other appid can exist, so none is looked up. */
export const APPID = /^[A-Za-z0-9_-]{1,64}$/;

const CACHED_APPS = 1_000;
const CACHED_MS = 300_000;
/** A cold look-up gives KV this long before it asks D1 too. */
const KV_HEAD_START_MS = 15;
/** When D1 does not know the app, KV gets this long to say that it does. */
const KV_LATE_MS = 300;
/** After D1's answer, KV gets this long to say what it holds. */
const KV_ANSWER_MS = 2_000;
const REFRESH_PAUSE_MS = 5_000;
const CONFIRMS_PER_SECOND = 10;
/** A request that waits for another request's refresh checks this often whether it has ended. */
const REFRESH_POLL_MS = 5;

/**
 * Reads apps' credentials through two caches: the isolate, then KV, then D1. A stale record is harmless: every batch checks the
 * app's row in its home, and a signature that fails on a cached record is verified once more on a fresh one.
 * Keeps no promise and no stream between requests, because Workers forbid a request to use another request's I/O.
 */
export class CredentialResolver {
  readonly #runtime: Runtime;
  readonly #telemetry: Telemetry;
  readonly #cached = new Map<string, { credentials: Credentials; until: number }>();
  readonly #refreshedInVain = new Map<string, number>();
  /** Refreshes under way, each with the time when it counts as abandoned: a request that is cut off never removes its own. */
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

  /** The cached credentials, unless they have expired. */
  cached(appid: string): Found | undefined {
    const cached = this.#cached.get(appid);
    return cached !== undefined && cached.until > this.#runtime.now() ? this.known(appid) : undefined;
  }

  /** The cached credentials, even expired ones: for clients that may cause no look-up. The batch still checks the app in D1. */
  known(appid: string): Found | undefined {
    const cached = this.#cached.get(appid);
    return cached && { credentials: cached.credentials, source: "isolate" };
  }

  /** The cached credentials if they differ from `than`, because another request has read newer ones; else undefined. */
  newer(than: Credentials): Found | undefined {
    return this.#cachedIf(than.appid, (cached) => !isSame(cached, than));
  }

  /**
   * Asks KV, and D1 as well when KV does not have the app or takes long. The first answer wins.
   *
   * @throws ServiceError `unavailable` when D1 is needed and does not answer, or the app's home is closed; `internal` when MASTER_KEY
   *   does not open the record
   */
  async load(bindings: CredentialBindings, appid: string, lookUp: LookUp): Promise<Found | undefined> {
    if (!APPID.test(appid)) return undefined;
    const fromKv = this.#readKv(bindings, appid);
    const find = () => findApp(this.#runtime, bindings, appid, lookUp.answerBy, bindings.closedHomes);
    const askD1 = () => this.#readD1(bindings, appid, lookUp, find, fromKv);
    const early = await this.#within(KV_HEAD_START_MS, fromKv, null);
    if (early !== null) return early === undefined ? askD1() : this.#foundInKv(early);
    const fromD1 = askD1();
    // When KV wins, D1's answer still refreshes the caches.
    lookUp.waitUntil(fromD1.catch(() => {}));
    const kvHit = fromKv.then((found) => (found === undefined ? fromD1 : this.#foundInKv(found)));
    // The directory may have been put back to before the app: its "no such app" waits a little for KV, and the gate judges KV's record.
    const orKv = (found: Found | undefined) => found ?? this.#within(KV_LATE_MS, kvHit, undefined);
    const first = Promise.any([kvHit, fromD1.then(orKv)]).catch(() => fromD1);
    // No record of KV opens a closed home: nothing is left to wait for.
    const closed = new Promise<never>((_, refuse) => {
      fromD1.catch((error: unknown) => isRefusedFor(error, "home_closed") && refuse(error));
    });
    return this.#within(lookUp.answerBy - this.#runtime.elapsed(), Promise.race([first, closed]), fromD1);
  }

  /**
   * Reads D1 and skips both caches. Updates them when D1 has something else than they have.
   *
   * @param than the credentials that the caches hold
   * @throws as {@link load} does
   */
  reload(bindings: CredentialBindings, than: Credentials, lookUp: LookUp): Promise<Found | undefined> {
    const find = () => findAppAgain(this.#runtime, bindings, than, lookUp.answerBy, bindings.closedHomes);
    return this.#readD1(bindings, than.appid, lookUp, find, this.#believed(than));
  }

  /**
   * Asks the directory for another home of an app whose home may not be asked or does not answer; undefined when there is none. All
   * requests of one client for one app share one read, and one in vain is the last for 5 s, as in {@link refresh}.
   *
   * @throws as {@link load} does
   */
  async relocate(
    bindings: CredentialBindings,
    than: Credentials,
    client: string,
    lookUp: LookUp,
  ): Promise<Found | undefined> {
    const read = async () => {
      const record = await findAppElsewhere(this.#runtime, bindings, than, lookUp.answerBy, bindings.closedHomes);
      return record === null
        ? undefined
        : this.#readD1(bindings, than.appid, lookUp, async () => record, this.#believed(than));
    };
    const isNews = ({ siteId, home }: Credentials) => siteId !== than.siteId || home !== than.home;
    return this.#readOnce(`${than.appid} ${client} elsewhere`, than.appid, lookUp, isNews, read);
  }

  /**
   * {@link reload} after a signature failed on a cached record; undefined when D1 has nothing newer than `than`. All requests of
   * one client for one app share one read. After a read that found nothing new they cause none for 5 s, so a forger costs D1
   * little and delays no client at another address.
   *
   * @param client the address that the signature came from
   */
  async refresh(
    bindings: CredentialBindings,
    than: Credentials,
    client: string,
    lookUp: LookUp,
  ): Promise<Found | undefined> {
    const isNews = (fresh: Credentials) => !isSame(fresh, than);
    const read = () => this.reload(bindings, than, lookUp);
    return this.#readOnce(`${than.appid} ${client}`, than.appid, lookUp, isNews, read);
  }

  /**
   * {@link reload} for a request that is refused anyway. Reads D1 at most once a second for one signature and ten times a second
   * for one app, so that a captured request cannot keep D1 busy. Beyond that it returns `than`.
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
    // Noted before D1 answers, so that requests at the same moment cause one read.
    remember(this.#confirmed, than.appid, { second, signatures: signatures.add(digits) });
    return this.reload(bindings, than, lookUp);
  }

  /** Tells the caches of a change: this isolate at once, KV after the answer. Other isolates learn of it from D1's gate. */
  publish(bindings: CredentialBindings, record: AppRecord, waitUntil: LookUp["waitUntil"]): void {
    this.#cached.delete(record.appid);
    waitUntil(writeRecord(bindings.credentials, record, this.#telemetry));
  }

  #within<T, Late>(milliseconds: number, answer: Promise<T>, late: Late | Promise<Late>): Promise<T | Late> {
    return withinTime<T, Late | Promise<Late>>(
      this.#runtime,
      milliseconds,
      () => answer,
      () => late,
    ) as Promise<T | Late>;
  }

  /**
   * Waits for another request's read for the same client, if there is one, and reads only when that found no news.
   *
   * @param whose for whom and what is read
   */
  async #readOnce(
    whose: string,
    appid: string,
    { answerBy }: LookUp,
    isNews: (credentials: Credentials) => boolean,
    read: () => Promise<Found | undefined>,
  ): Promise<Found | undefined> {
    const isUnderWay = () =>
      (this.#refreshing.get(whose) ?? 0) > this.#runtime.now() && this.#runtime.elapsed() < answerBy;
    while (isUnderWay()) await sleep(this.#runtime, REFRESH_POLL_MS);
    const meanwhile = this.#cachedIf(appid, isNews);
    if (meanwhile !== undefined) return meanwhile;
    if (this.#wasInVain(whose)) return undefined;
    remember(this.#refreshing, whose, this.#runtime.now() + TRY_LIMIT_MS);
    try {
      const fresh = await read();
      if (fresh !== undefined && isNews(fresh.credentials)) return fresh;
    } finally {
      this.#refreshing.delete(whose);
    }
    remember(this.#refreshedInVain, whose, this.#runtime.now());
    return undefined;
  }

  #cachedIf(appid: string, fits: (credentials: Credentials) => boolean): Found | undefined {
    const cached = this.cached(appid);
    return cached !== undefined && fits(cached.credentials) ? cached : undefined;
  }

  #wasInVain(whose: string): boolean {
    return this.#runtime.now() < (this.#refreshedInVain.get(whose) ?? 0) + REFRESH_PAUSE_MS;
  }

  /** A record of KV: it must not replace what another request has read of D1 meanwhile. */
  #foundInKv(credentials: Credentials): Found {
    return this.cached(credentials.appid) ?? { credentials: this.#keep(credentials), source: "kv" };
  }

  /** Undefined when KV does not have the app or fails. Never rejects. */
  async #readKv(bindings: CredentialBindings, appid: string): Promise<Credentials | undefined> {
    try {
      const record = await readRecord(bindings.credentials, appid);
      return record && (await this.#open(bindings, record));
    } catch {
      // KV failed, or its record is damaged or sealed with a retired master key. D1 has the right one.
      return undefined;
    }
  }

  async #readD1(
    bindings: CredentialBindings,
    appid: string,
    { waitUntil }: LookUp,
    find: () => Promise<AppRecord | null>,
    heldByKv: Promise<Credentials | undefined>,
  ): Promise<Found | undefined> {
    const record = await find();
    if (record === null) {
      this.#cached.delete(appid);
      return undefined;
    }
    let credentials: Credentials;
    try {
      credentials = await this.#open(bindings, record);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      throw new ServiceError("internal", { reason: "master_key_wrong", cause: error });
    }
    waitUntil(this.#correctKv(bindings, record, credentials, heldByKv));
    return { credentials: this.#keep(credentials), source: "d1" };
  }

  /** What KV is taken to hold of an app that the caches know: the newest that this isolate has read, from KV or since. */
  async #believed(than: Credentials): Promise<Credentials> {
    return this.#cached.get(than.appid)?.credentials ?? than;
  }

  /** Gives KV the record of D1, unless it holds the same or does not say what it holds: then it is slow, not empty. */
  async #correctKv(
    bindings: CredentialBindings,
    record: AppRecord,
    credentials: Credentials,
    heldByKv: Promise<Credentials | undefined>,
  ): Promise<void> {
    const held = await this.#within(KV_ANSWER_MS, heldByKv, credentials);
    if (held === undefined || !isSame(held, credentials)) {
      await writeRecord(bindings.credentials, record, this.#telemetry);
    }
  }

  async #open(bindings: CredentialBindings, record: AppRecord): Promise<Credentials> {
    return openCredentials(await this.keyring(bindings), record, unixSeconds(this.#runtime));
  }

  #keep(credentials: Credentials): Credentials {
    remember(this.#cached, credentials.appid, { credentials, until: this.#runtime.now() + CACHED_MS });
    return credentials;
  }
}

/** Whether two records accept the same signatures. */
function isSame(a: Credentials, b: Credentials): boolean {
  const gist = ({ siteId, home, revoked, keys }: Credentials) =>
    JSON.stringify([siteId, home, revoked, keys.map(({ version, expiresAt }) => [version, expiresAt])]);
  return gist(a) === gist(b);
}

/** Sets an entry as the newest, and removes the oldest ones beyond CACHED_APPS. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= CACHED_APPS) break;
    map.delete(oldest);
  }
}
