import { createLocalJWKSet, errors, type JWTVerifyGetKey } from "jose";
import { type Runtime, sleep } from "../../core/runtime.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import { CertsFault, FETCH_LIMIT_MS, fetchCerts } from "./fetch-certs.ts";

/** How long keys are good after the last successful fetch. The endpoint may be down for as long. */
const GOOD_FOR_MS = 24 * 3_600_000;
/** Keys older than this are fetched again while a request uses them, so that a key that the team withdrew stops working. */
const REFRESH_AFTER_MS = 3_600_000;
/** The least time between two fetches, also after a failed one. So assertions with made-up keys cannot cause more fetches. */
const BETWEEN_FETCHES_MS = 60_000;
/** A fetch in flight is polled, because Workers forbid a request to await a promise of another request. */
const IN_FLIGHT_POLL_MS = 5;

/** The endpoint does not answer, and no known key could verify the assertion. */
export class CertsUnavailable extends Error {
  override readonly name = "CertsUnavailable";
}

/** What is known of one endpoint. Times are of the wall clock. */
interface Certs {
  keys: JWTVerifyGetKey | undefined;
  fetchedAt: number;
  triedAt: number;
  /** Until when a fetch in flight holds back other fetches. It is a time, because a fetch that the platform cuts off reports no end. */
  inFlightUntil: number;
  failed: boolean;
}

/**
 * The public keys of Access teams, as this isolate knows them, by the address of their endpoint. jose's own remote set gives up its
 * fetch together with the request that began it, and forgets known keys when the endpoint is down for ten minutes.
 */
export class AccessKeys {
  readonly #runtime: Runtime;
  readonly #telemetry: Telemetry;
  readonly #certs = new Map<string, Certs>();

  constructor(runtime: Runtime, telemetry: Telemetry) {
    this.#runtime = runtime;
    this.#telemetry = telemetry;
  }

  /**
   * Finds the key of an assertion, for jose. The function that it returns throws {@link CertsUnavailable}, and jose's own errors for a
   * key that the team does not have.
   *
   * @param waitUntil keeps a fetch alive when the request that began it is cut off
   */
  keyFinder(url: string, waitUntil: (work: Promise<unknown>) => void): JWTVerifyGetKey {
    return async (header, token) => {
      const knownKey = await this.#goodKeys(url, waitUntil);
      try {
        return await knownKey(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        const newer = await this.#newerThan(knownKey, url, waitUntil);
        if (newer === undefined) throw error;
        return newer(header, token);
      }
    };
  }

  /** The keys that are good now. Old keys are fetched again, but the request does not wait for that. */
  async #goodKeys(url: string, waitUntil: (work: Promise<unknown>) => void): Promise<JWTVerifyGetKey> {
    const certs = this.#certsOf(url);
    const age = this.#runtime.now() - certs.fetchedAt;
    if (certs.keys !== undefined && age < GOOD_FOR_MS) {
      if (age >= REFRESH_AFTER_MS && this.#mayFetch(certs)) waitUntil(this.#fetch(certs, url));
      return certs.keys;
    }
    certs.keys = undefined;
    await this.#fetchOnce(certs, url, waitUntil);
    if (certs.keys === undefined) throw new CertsUnavailable();
    return certs.keys;
  }

  /**
   * Newer keys than `knownKey`, for an assertion whose key is not among those.
   *
   * @returns undefined when the team has no other keys
   * @throws CertsUnavailable when the endpoint does not answer: it might have the key
   */
  async #newerThan(
    knownKey: JWTVerifyGetKey,
    url: string,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<JWTVerifyGetKey | undefined> {
    const certs = this.#certsOf(url);
    await this.#fetchOnce(certs, url, waitUntil);
    if (certs.keys !== knownKey) return certs.keys;
    if (certs.failed) throw new CertsUnavailable();
    return undefined;
  }

  /** Fetches the keys. While another fetch is in flight, waits for it instead. Soon after a fetch, does nothing. */
  async #fetchOnce(certs: Certs, url: string, waitUntil: (work: Promise<unknown>) => void): Promise<void> {
    if (this.#mayFetch(certs)) {
      const fetching = this.#fetch(certs, url);
      waitUntil(fetching);
      return fetching;
    }
    while (certs.inFlightUntil > this.#runtime.now()) await sleep(this.#runtime, IN_FLIGHT_POLL_MS);
  }

  #mayFetch({ triedAt }: Certs): boolean {
    return this.#runtime.now() - triedAt >= BETWEEN_FETCHES_MS;
  }

  /** Never rejects. An answer that cannot be used leaves the known keys as they are. */
  async #fetch(certs: Certs, url: string): Promise<void> {
    certs.triedAt = this.#runtime.now();
    certs.inFlightUntil = certs.triedAt + FETCH_LIMIT_MS;
    try {
      certs.keys = createLocalJWKSet(await fetchCerts(this.#runtime, url));
      certs.fetchedAt = this.#runtime.now();
      certs.failed = false;
    } catch (error) {
      certs.failed = true;
      const fault = error instanceof CertsFault ? error.message : "keys that cannot be read";
      this.#telemetry.warn({ warning: "the certs of Cloudflare Access could not be fetched", url, fault });
    } finally {
      certs.inFlightUntil = 0;
    }
  }

  #certsOf(url: string): Certs {
    const knownCerts = this.#certs.get(url);
    if (knownCerts !== undefined) return knownCerts;
    const never = Number.NEGATIVE_INFINITY;
    const certs = { keys: undefined, fetchedAt: never, triedAt: never, inFlightUntil: never, failed: false };
    this.#certs.set(url, certs);
    return certs;
  }
}
