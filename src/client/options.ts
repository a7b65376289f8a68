import type { Fetch, SignalShape } from "./platform.ts";

export interface ClientOptions {
  /** The address of the service, such as "https://sessions.example.com". It may have a path. */
  baseUrl: string;
  appid: string;
  /** Only for servers, because a browser or a phone would show the secret to its user. */
  secret: string;
  /** Default: the platform's own. */
  fetch?: Fetch | undefined;
  /** Milliseconds for one try, until its whole answer is read. Default 10,000. */
  timeoutMs?: number | undefined;
  /** The most tries of a call, with the first one. Default 4. */
  maxTries?: number | undefined;
}

/** Options of one call with one try. */
export interface SendOptions {
  /**
   * 1 to 255 visible ASCII characters. For 24 hours, calls with the same key are done once. Default: a random key for all tries of the
   * call; `send` has no key by default. `false` means no key: then only a 429 is retried, because any other call may have been done.
   */
  idempotencyKey?: string | false | undefined;
  /** Aborts the call at once, also between two tries. The call rejects with the signal's reason. */
  signal?: SignalShape | undefined;
  /** Milliseconds for one try of this call. Default: the client's `timeoutMs`. */
  timeoutMs?: number | undefined;
}

export interface CallOptions extends SendOptions {
  /** How many tries may follow the first one; 0 means one try in all. Default: one less than the client's `maxTries`. */
  retries?: number | undefined;
}

export interface Limits {
  timeoutMs: number;
  maxTries: number;
}

/** The limits of a client's calls: its options, and the defaults for absent options. @throws TypeError naming the wrong option */
export function usableLimits({ timeoutMs, maxTries }: Pick<ClientOptions, keyof Limits>, others: Limits): Limits {
  return {
    timeoutMs: wholeNumber("timeoutMs", timeoutMs ?? others.timeoutMs, 1, MOST_MS),
    maxTries: wholeNumber("maxTries", maxTries ?? others.maxTries, 1, MOST_TRIES),
  };
}

/** The limits of one call: its options, and the client's limits for absent options. @throws TypeError naming the wrong option */
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
export function usableSignal(signal: SignalShape | undefined): SignalShape | undefined {
  if (signal === undefined || signal === null) return undefined;
  // The shape is checked and not the class, because a polyfill or a signal of another realm is no instance of this AbortSignal.
  const { aborted, addEventListener, removeEventListener } = signal;
  const listens = typeof addEventListener === "function" && typeof removeEventListener === "function";
  if (typeof aborted === "boolean" && listens) return signal;
  throw new TypeError("signal: must be an AbortSignal, with addEventListener and removeEventListener");
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
export function requireFilled(name: string, value: string): string {
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
