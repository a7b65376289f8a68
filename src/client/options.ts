import type { Fetch, Signal } from "./platform.ts";

export interface ClientOptions {
  /** Where the service is, "https://sessions.example.com". A path in it is kept. */
  baseUrl: string;
  appid: string;
  /** Belongs on a server: never ship it to a browser or a phone. */
  secret: string;
  /** Default: the platform's. */
  fetch?: Fetch | undefined;
  /** Milliseconds one try may take, its answer read whole. Default 10,000. */
  timeoutMs?: number | undefined;
  /** The first try counts. Default 4. */
  maxTries?: number | undefined;
}

/** Options of one call with one try. */
export interface SendOptions {
  /**
   * 1 to 255 visible ASCII characters; calls with one key are done once (24 h). Default: a random key, the same for all tries of the
   * call; of `send` none. Without one (`false`) only a 429 is tried again, because anything else may have been done.
   */
  idempotencyKey?: string | false | undefined;
  /** Ends the call at once, pauses too; it rejects with the signal's reason. */
  signal?: Signal | undefined;
  /** Milliseconds one try of this call may take. Default: the client's. */
  timeoutMs?: number | undefined;
}

export interface CallOptions extends SendOptions {
  /** How often this call is tried again at most; 0 is one try. Default: one less than the client's `maxTries`. */
  retries?: number | undefined;
}

/** How long and how often to try. */
export interface Limits {
  timeoutMs: number;
  maxTries: number;
}

/** What of a client's own options, and of the defaults, limits its calls. @throws TypeError naming the option that cannot be used */
export function usableLimits({ timeoutMs, maxTries }: Pick<ClientOptions, keyof Limits>, others: Limits): Limits {
  return {
    timeoutMs: wholeNumber("timeoutMs", timeoutMs ?? others.timeoutMs, 1, MOST_MS),
    maxTries: wholeNumber("maxTries", maxTries ?? others.maxTries, 1, MOST_TRIES),
  };
}

/** The same of one call. @throws TypeError naming the option that cannot be used */
export function limitsOfCall({ timeoutMs, retries }: CallOptions, client: Limits): Limits {
  return {
    timeoutMs: wholeNumber("timeoutMs", timeoutMs ?? client.timeoutMs, 1, MOST_MS),
    maxTries: 1 + wholeNumber("retries", retries ?? client.maxTries - 1, 0, MOST_TRIES - 1),
  };
}

/** @throws TypeError */
export function usableKey(key: string | false): string | undefined {
  if (key === false) return undefined;
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new TypeError("idempotencyKey: must be 1 to 255 visible ASCII characters, or false");
}

/** @throws TypeError */
export function usableSignal(signal: Signal | undefined): Signal | undefined {
  if (signal === undefined || signal === null) return undefined;
  // By its shape: signals of another realm, and polyfills, are not instances of this realm's AbortSignal.
  if (typeof signal.aborted === "boolean" && typeof signal.addEventListener === "function") return signal;
  throw new TypeError("signal: must be an AbortSignal");
}

/** @throws TypeError */
export function usableUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const usable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (!usable || /[?#]/.test(baseUrl)) {
    throw new TypeError("baseUrl: must be an http or https URL without user, query and fragment");
  }
  return url.href.replace(/\/+$/, "");
}

/** @throws TypeError */
export function filled(name: string, value: string): string {
  if (typeof value !== "string" || value === "") throw new TypeError(`${name}: must be a string that is not empty`);
  return value;
}

const MOST_MS = 2 ** 31 - 1;
const MOST_TRIES = 100;

function wholeNumber(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new TypeError(`${name}: must be a whole number from ${least} to ${most}`);
  }
  return value;
}
