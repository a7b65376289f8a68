import { notSimulated } from "../not-simulated.ts";
import { type Carry, carryAtOnce } from "./d1.ts";

interface Entry {
  value: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
  /** JSON text; undefined without metadata. */
  metadata?: string | undefined;
}

/** The true content of a namespace. */
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

type Options = { type?: string; cacheTtl?: number } | string | undefined;

/**
 * A KV binding as one edge sees it: the edge caches each value that it has read, and each miss, until the cache entry
 * expires. test/simulation/conformance runs one list of calls on it and on the real one, which has one location and no
 * cache.
 *
 * A list is never cached. Features that src/ does not use are refused: other types than text and JSON, metadata of a
 * get, values that are not well-formed text.
 */
export class SimulatedKv {
  readonly #truth: KvTruth;
  /** Milliseconds since the epoch. */
  readonly #now: () => number;
  readonly #carry: Carry;
  readonly #cached = new Map<string, { entry: Entry | undefined; at: number }>();

  constructor(truth: KvTruth, now: () => number, carry: Carry = carryAtOnce) {
    this.#truth = truth;
    this.#now = now;
    this.#carry = carry;
  }

  async get(key: string | readonly string[], options?: Options): Promise<unknown> {
    const { type = "text", cacheTtl } = typeof options === "string" ? { type: options } : (options ?? {});
    if (type !== "text" && type !== "json") throw notSimulated(`a value of type ${type}`);
    const seconds = cacheTtl ?? DEFAULT_CACHE_SECONDS;
    if (typeof key !== "string") return this.#getSeveral(key, type, seconds);
    checkName(key);
    checkLength(key, "GET");
    checkCacheTtl(seconds, "GET");
    const text = await this.#carry("get", () => this.#read(key, seconds));
    return text === null || type === "text" ? text : JSON.parse(text);
  }

  async put(key: string, value: string, options: { expirationTtl?: number; metadata?: unknown } = {}): Promise<void> {
    const { expirationTtl, metadata, ...others } = options;
    const told = metadata == null ? undefined : JSON.stringify(metadata);
    if (typeof value !== "string" || !value.isWellFormed()) throw notSimulated("a value that is not well-formed text");
    if (Object.keys(others).length > 0) throw notSimulated(`put() with ${Object.keys(others).join(", ")}`);
    checkName(key);
    if (expirationTtl !== undefined) checkTtl(expirationTtl);
    checkLength(key, "PUT");
    if (told !== undefined) checkMetadata(told);
    await this.#carry("put", () => {
      const seconds = Math.floor(this.#now() / 1000);
      const expiresAt = expirationTtl === undefined ? Number.POSITIVE_INFINITY : (seconds + expirationTtl) * 1000;
      this.#truth.set(key, { value, expiresAt, metadata: told });
      this.#truth.onPut(value, key, told);
      this.#cached.delete(key);
    });
  }

  async list(options: { prefix?: string; cursor?: string | null; limit?: number }): Promise<unknown> {
    const { prefix, cursor, limit = LISTED_KEYS, ...others } = options;
    if (Object.keys(others).length > 0) throw notSimulated(`list() with ${Object.keys(others).join(", ")}`);
    return this.#carry("list", () => {
      const now = this.#now();
      const live = [...this.#truth].filter(([key, { expiresAt }]) => key.startsWith(prefix ?? "") && expiresAt > now);
      const after = cursor == null ? live : live.filter(([key]) => byBytes(key, cursor) > 0);
      const sorted = after.sort(([a], [b]) => byBytes(a, b));
      const page = sorted.slice(0, limit);
      const keys = page.map(([name, { metadata }]) => ({
        name,
        ...(metadata !== undefined && { metadata: JSON.parse(metadata) as unknown }),
      }));
      const isWhole = sorted.length <= limit;
      return isWhole
        ? { keys, list_complete: true, cacheStatus: null }
        : { keys, list_complete: false, cursor: page.at(-1)?.[0], cacheStatus: null };
    });
  }

  async delete(key: string): Promise<void> {
    checkName(key);
    checkLength(key, "DELETE");
    await this.#carry("delete", () => {
      this.#truth.delete(key);
      this.#cached.delete(key);
    });
  }

  async #getSeveral(keys: readonly string[], type: string, cacheTtl: number): Promise<Map<string, unknown>> {
    const call = "GET_BULK";
    if (keys.length > MOST_KEYS) throw failure(call, 400, `You can request a maximum of ${MOST_KEYS} keys`);
    if (keys.length === 0) throw failure(call, 400, "You must request a minimum of 1 key");
    for (const key of keys) {
      if (key === "") throw failure(call, 400, "Key names must not be empty");
      if (isDots(key)) throw failure(call, 400, `Illegal key name "${key}". Please use a different name.`);
      checkLength(key, call);
    }
    checkCacheTtl(cacheTtl, call);
    const texts = await this.#carry("get", () => keys.map((key) => this.#read(key, cacheTtl)));
    const valueIn = (text: string | null | undefined) => {
      if (text == null || type === "text") return text ?? null;
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw failure(call, 400, "At least one of the requested keys corresponds to a non-json value");
      }
    };
    return new Map(keys.map((key, i) => [key, valueIn(texts[i])]));
  }

  /** The edge's cache drops a key to make room. */
  forget(key: string): void {
    this.#cached.delete(key);
  }

  #read(key: string, cacheTtl: number): string | null {
    const now = this.#now();
    let known = this.#cached.get(key);
    if (known === undefined || now >= known.at + cacheTtl * 1000) {
      known = { entry: this.#truth.get(key), at: now };
      this.#cached.set(key, known);
    }
    const { entry } = known;
    return entry !== undefined && entry.expiresAt > now ? entry.value : null;
  }
}

/** An error in the form of KV's client, from an answer of the service. */
const failure = (call: string, status: number, text: string) => new Error(`KV ${call} failed: ${status} ${text}`);

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function checkMetadata(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MOST_METADATA_BYTES) return;
  throw failure("PUT", 413, `Metadata length of ${bytes} exceeds limit of ${MOST_METADATA_BYTES}.`);
}

const isDots = (key: string) => key === "." || key === "..";

/** Arguments that KV's client refuses before it sends anything. */
function checkName(key: string): void {
  if (key === "") throw new TypeError("Key name cannot be empty.");
  if (isDots(key)) throw new TypeError(`"${key}" is not allowed as a key name.`);
}

function checkLength(key: string, call: string): void {
  const bytes = Buffer.byteLength(key);
  if (bytes <= MOST_KEY_BYTES) return;
  throw failure(call, 414, `UTF-8 encoded length of ${bytes} exceeds key length limit of ${MOST_KEY_BYTES}.`);
}

function checkCacheTtl(seconds: number, call: string): void {
  if (seconds >= LEAST_CACHE_SECONDS) return;
  const least = `Cache TTL must be at least ${LEAST_CACHE_SECONDS}.`;
  throw failure(call, 400, `Invalid cache_ttl of ${seconds}. ${least}`);
}

function checkTtl(seconds: number): void {
  if (seconds >= LEAST_TTL_SECONDS) return;
  const least =
    seconds > 0 ? `Expiration TTL must be at least ${LEAST_TTL_SECONDS}.` : "Please specify integer greater than 0.";
  throw failure("PUT", 400, `Invalid expiration_ttl of ${seconds}. ${least}`);
}
