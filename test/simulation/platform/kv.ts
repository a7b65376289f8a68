import { refuseIf, refuseOthers } from "../not-simulated.ts";
import { type CarryCall, carryAtOnce } from "./d1.ts";

interface Entry {
  value: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
  /** JSON text; undefined without metadata. */
  metadata?: string | undefined;
}

/** The stored content of a namespace, which an edge sees through its cache. */
export class KvTruth extends Map<string, Entry> {
  /** Called with every value that a binding has put, and its metadata as JSON. */
  onPut: (value: string, key: string, metadata: string | undefined) => void = () => {};
}

const LEAST_CACHE_SECONDS = 30;
const DEFAULT_CACHE_SECONDS = 60;
const LEAST_TTL_SECONDS = 60;
const MOST_KEY_BYTES = 512;
const MOST_KEYS = 100;
const LISTED_KEYS = 1_000;
const MOST_METADATA_BYTES = 1_024;

type Options = { type?: string; cacheTtl?: number } | string;

/**
 * A KV binding as one edge sees it: the edge caches each value that it has read, and each miss, until the cache entry
 * expires. A list is never cached. It refuses what src/ does not use. test/simulation/conformance runs one list of
 * calls on it and on workerd's KV, which has one location and no cache.
 */
export class SimulatedKv {
  readonly #truth: KvTruth;
  /** Milliseconds since the epoch. */
  readonly #now: () => number;
  readonly #carry: CarryCall;
  readonly #cache = new Map<string, { entry: Entry | undefined; at: number }>();

  constructor(truth: KvTruth, now: () => number, carry: CarryCall = carryAtOnce) {
    this.#truth = truth;
    this.#now = now;
    this.#carry = carry;
  }

  async get(key: string | readonly string[], options: Options = {}): Promise<unknown> {
    const all = typeof options === "string" ? { type: options } : options;
    const { type = "text", cacheTtl = DEFAULT_CACHE_SECONDS, ...others } = all;
    refuseOthers("get()", others);
    refuseIf(type !== "text" && type !== "json", `a value of type ${type}`);
    refuseIf(cacheTtl < LEAST_CACHE_SECONDS, `a cache of ${cacheTtl} s`);
    if (typeof key !== "string") return this.#getSeveral(key, type, cacheTtl);
    checkKey(key);
    const text = await this.#carry("get", () => this.#read(key, cacheTtl));
    return text === null || type === "text" ? text : JSON.parse(text);
  }

  async #getSeveral(keys: readonly string[], type: string, cacheTtl: number): Promise<Map<string, unknown>> {
    refuseIf(keys.length === 0 || keys.length > MOST_KEYS, `${keys.length} keys`);
    refuseIf(type !== "text", `several keys as ${type}`);
    for (const key of keys) checkKey(key);
    const texts = await this.#carry("get", () => keys.map((key) => this.#read(key, cacheTtl)));
    return new Map(keys.map((key, i) => [key, texts[i] ?? null]));
  }

  async put(key: string, value: string, options: { expirationTtl?: number; metadata?: object } = {}): Promise<void> {
    const { expirationTtl = Number.POSITIVE_INFINITY, metadata, ...others } = options;
    const metadataText = metadata === undefined ? undefined : JSON.stringify(metadata);
    refuseOthers("put()", others);
    refuseIf(typeof value !== "string" || !value.isWellFormed(), "a value that is not well-formed text");
    refuseIf(!(expirationTtl >= LEAST_TTL_SECONDS), `a value that expires in ${expirationTtl} s`);
    refuseIf(Buffer.byteLength(metadataText ?? "") > MOST_METADATA_BYTES, "metadata that is too long");
    checkKey(key);
    await this.#carry("put", () => {
      const seconds = Math.floor(this.#now() / 1000);
      this.#truth.set(key, { value, expiresAt: (seconds + expirationTtl) * 1000, metadata: metadataText });
      this.#truth.onPut(value, key, metadataText);
      this.#cache.delete(key);
    });
  }

  async list(options: { prefix: string; cursor?: string | null; limit?: number }): Promise<unknown> {
    const { prefix, cursor, limit = LISTED_KEYS, ...others } = options;
    refuseOthers("list()", others);
    return this.#carry("list", () => {
      const now = this.#now();
      const live = [...this.#truth].filter(([key, { expiresAt }]) => key.startsWith(prefix) && expiresAt > now);
      const after = cursor == null ? live : live.filter(([key]) => byBytes(key, cursor) > 0);
      const page = after.sort(([a], [b]) => byBytes(a, b)).slice(0, limit);
      const keys = page.map(([name, { metadata }]) => ({
        name,
        ...(metadata !== undefined && { metadata: JSON.parse(metadata) as unknown }),
      }));
      return after.length <= limit
        ? { keys, list_complete: true, cacheStatus: null }
        : { keys, list_complete: false, cursor: page.at(-1)?.[0], cacheStatus: null };
    });
  }

  /** The edge's cache drops a key to make room. */
  forget(key: string): void {
    this.#cache.delete(key);
  }

  #read(key: string, cacheTtl: number): string | null {
    const now = this.#now();
    let cachedEntry = this.#cache.get(key);
    if (cachedEntry === undefined || now >= cachedEntry.at + cacheTtl * 1000) {
      cachedEntry = { entry: this.#truth.get(key), at: now };
      this.#cache.set(key, cachedEntry);
    }
    const { entry } = cachedEntry;
    return entry !== undefined && entry.expiresAt > now ? entry.value : null;
  }
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

const checkKey = (key: string) =>
  refuseIf(["", ".", ".."].includes(key) || Buffer.byteLength(key) > MOST_KEY_BYTES, `the key "${key}"`);
