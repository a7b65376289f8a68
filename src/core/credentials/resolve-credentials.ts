import type { Config } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { type Runtime, unixSeconds } from "../runtime.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type AppRecord, findApp, findKnownApp } from "./find-app.ts";
import { firstOfKvAndD1, resultWithin } from "./hedge.ts";
import { IsolateCache } from "./isolate-cache.ts";
import { readRecord, writeRecord } from "./kv-records.ts";
import { LookUpBounds } from "./look-up-bounds.ts";
import { LookUpTurns } from "./look-up-turns.ts";
import { type Credentials, openCredentials, sameCredentials } from "./open-secrets.ts";
import type { FoundApp, Lifetime, Question } from "./question.ts";
import { importKeyring, type Keyring, UnsealError } from "./sealed-secret.ts";

export type CredentialBindings = Pick<Config, "directory" | "homes" | "closedHomes" | "credentials" | "masterKeys">;

/** The form of all appids that this service issues or imports. Other appids are never looked up, because none can exist. */
export const APPID = /^[A-Za-z0-9_-]{1,64}$/;

/** How long the correction of KV waits, after D1's answer, for the record that KV holds. */
const KV_ANSWER_MS = 2_000;

/**
 * Looks up the credentials of apps. Keeps no promise and no stream between requests, because Workers forbid a request to use
 * another request's I/O.
 */
export class CredentialResolver {
  readonly #runtime: Runtime;
  readonly #telemetry: Telemetry;
  readonly #cache: IsolateCache;
  readonly #bounds: LookUpBounds;
  readonly #turns: LookUpTurns;
  readonly #keyrings = new WeakMap<object, Keyring>();

  constructor(runtime: Runtime, telemetry: Telemetry) {
    this.#runtime = runtime;
    this.#telemetry = telemetry;
    this.#cache = new IsolateCache(runtime);
    this.#bounds = new LookUpBounds(runtime);
    this.#turns = new LookUpTurns(runtime);
  }

  async keyring(bindings: CredentialBindings): Promise<Keyring> {
    const cachedKeyring = this.#keyrings.get(bindings.masterKeys);
    if (cachedKeyring !== undefined) return cachedKeyring;
    const keyring = await importKeyring(bindings.masterKeys);
    this.#keyrings.set(bindings.masterKeys, keyring);
    return keyring;
  }

  /**
   * Finds an app's credentials where the question asks, within the bounds of look-up-bounds.ts, and updates the caches. Undefined
   * when there is no such app, or no newer record than the cached one.
   *
   * @throws ServiceError `unavailable` when D1 is needed and does not answer, or the app's home is closed; `internal` when
   *   MASTER_KEY does not open the record; `too_many_requests` when D1 is needed and the caller got no turn
   */
  async lookUp(bindings: CredentialBindings, lifetime: Lifetime, question: Question): Promise<FoundApp | undefined> {
    if (question.trust === "cache") {
      const { appid, inTurn } = question;
      const cachedApp = inTurn ? this.#cache.anyRecord(appid) : this.#cache.freshRecord(appid);
      return cachedApp ?? this.#askKvAndD1(bindings, appid, inTurn, lifetime);
    }
    const { trust, bound, cached, client, signature } = question;
    const { appid } = cached;
    const isElsewhere = ({ siteId, home }: Credentials) => siteId !== cached.siteId || home !== cached.home;
    const [isNews, lookUpRecord] =
      trust === "directory"
        ? [isElsewhere, () => this.#askDirectory(bindings, cached, lifetime)]
        : [
            (credentials: Credentials) => !sameCredentials(credentials, cached),
            () => this.#askHome(bindings, cached, lifetime),
          ];
    switch (bound) {
      case "none":
        return this.#cachedNews(appid, isNews) ?? lookUpRecord();
      case "address":
        return this.#once(`${appid} ${client} ${trust}`, appid, lifetime, isNews, lookUpRecord);
      case "signature":
        return this.#bounds.mayConfirm(appid, String(signature))
          ? lookUpRecord()
          : { credentials: cached, source: "isolate" };
    }
  }

  /**
   * Updates the caches after a change: the isolate's cache at once, KV after the answer. Other isolates notice the change when the gate
   * in D1 refuses their record.
   */
  publish(bindings: CredentialBindings, record: AppRecord, waitUntil: Lifetime["waitUntil"]): void {
    this.#cache.drop(record.appid);
    waitUntil(writeRecord(bindings.credentials, record, this.#telemetry));
  }

  #once(
    whose: string,
    appid: string,
    { answerBy }: Lifetime,
    isNews: (found: Credentials) => boolean,
    lookUpRecord: () => Promise<FoundApp | undefined>,
  ): Promise<FoundApp | undefined> {
    const lookForNews = async () => {
      const app = await lookUpRecord();
      return app !== undefined && isNews(app.credentials) ? app : undefined;
    };
    return this.#bounds.once(whose, answerBy, () => this.#cachedNews(appid, isNews), lookForNews);
  }

  /** The record that another request has read meanwhile, when it is new; otherwise undefined. */
  #cachedNews(appid: string, isNews: (found: Credentials) => boolean): FoundApp | undefined {
    const cached = this.#cache.freshRecord(appid);
    return cached !== undefined && isNews(cached.credentials) ? cached : undefined;
  }

  async #askKvAndD1(
    bindings: CredentialBindings,
    appid: string,
    inTurn: boolean,
    lifetime: Lifetime,
  ): Promise<FoundApp | undefined> {
    if (!APPID.test(appid)) return undefined;
    const kvCredentials = this.#readKv(bindings, appid);
    // A record of KV must not replace a record that another request has read from D1 meanwhile.
    const keep = (credentials: Credentials): FoundApp =>
      this.#cache.freshRecord(appid) ?? { credentials: this.#cache.keep(credentials), source: "kv" };
    const fromKv = kvCredentials.then((credentials) => credentials && keep(credentials));
    return firstOfKvAndD1(lifetime, fromKv, async () => {
      const meanwhile = inTurn ? await this.#turns.wait(appid, () => this.#cache.anyRecord(appid)) : undefined;
      if (meanwhile !== undefined) return meanwhile;
      const record = await findApp(lifetime.runtime, bindings, appid, { ...lifetime, closed: bindings.closedHomes });
      return this.#keepOrDrop(bindings, appid, record, kvCredentials, lifetime);
    });
  }

  async #askHome(bindings: CredentialBindings, cached: Credentials, lifetime: Lifetime): Promise<FoundApp | undefined> {
    const kvCredentials = this.#believedOfKv(cached);
    const search = { ...lifetime, closed: bindings.closedHomes };
    const record = await findKnownApp(lifetime.runtime, bindings, cached, "home", search);
    return this.#keepOrDrop(bindings, cached.appid, record, kvCredentials, lifetime);
  }

  async #askDirectory(
    bindings: CredentialBindings,
    cached: Credentials,
    lifetime: Lifetime,
  ): Promise<FoundApp | undefined> {
    const search = { ...lifetime, closed: bindings.closedHomes };
    const record = await findKnownApp(lifetime.runtime, bindings, cached, "directory", search);
    return record === null ? undefined : this.#keepRecord(bindings, record, this.#believedOfKv(cached), lifetime);
  }

  /** Undefined when KV does not have the app or fails. Never rejects. */
  async #readKv(bindings: CredentialBindings, appid: string): Promise<Credentials | undefined> {
    try {
      const record = await readRecord(bindings.credentials, appid);
      return record && (await this.#open(bindings, record));
    } catch {
      // KV failed, or its record is damaged or sealed with a retired master key. D1 has the right record.
      return undefined;
    }
  }

  /** The newest record that this isolate has read. The code assumes that KV holds the same record, and does not read KV again. */
  async #believedOfKv(cached: Credentials): Promise<Credentials> {
    return this.#cache.anyRecord(cached.appid)?.credentials ?? cached;
  }

  /** Caches the record of D1, or forgets the app when D1 has none. */
  async #keepOrDrop(
    bindings: CredentialBindings,
    appid: string,
    record: AppRecord | null,
    heldByKv: Promise<Credentials | undefined>,
    lifetime: Lifetime,
  ): Promise<FoundApp | undefined> {
    if (record !== null) return this.#keepRecord(bindings, record, heldByKv, lifetime);
    this.#cache.drop(appid);
    return undefined;
  }

  async #keepRecord(
    bindings: CredentialBindings,
    record: AppRecord,
    heldByKv: Promise<Credentials | undefined>,
    { waitUntil }: Lifetime,
  ): Promise<FoundApp> {
    let credentials: Credentials;
    try {
      credentials = await this.#open(bindings, record);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      throw new ServiceError("internal", { reason: "master_key_wrong", cause: error });
    }
    waitUntil(this.#correctKv(bindings, record, credentials, heldByKv));
    return { credentials: this.#cache.keep(credentials), source: "d1" };
  }

  /**
   * Puts the record of D1 into KV, unless KV holds the same. Nothing is put when KV does not answer: then KV is slow, not empty.
   */
  async #correctKv(
    bindings: CredentialBindings,
    record: AppRecord,
    credentials: Credentials,
    heldByKv: Promise<Credentials | undefined>,
  ): Promise<void> {
    const kvCredentials = await resultWithin(this.#runtime, KV_ANSWER_MS, heldByKv, credentials);
    if (kvCredentials === undefined || !sameCredentials(kvCredentials, credentials)) {
      await writeRecord(bindings.credentials, record, this.#telemetry);
    }
  }

  async #open(bindings: CredentialBindings, record: AppRecord): Promise<Credentials> {
    return openCredentials(await this.keyring(bindings), record, unixSeconds(this.#runtime));
  }
}
