import type { Credentials } from "./open-secrets.ts";

/**
 * What a look-up is asked: an app, and whose word is good enough. `cache`: that of the isolate, else KV's, else D1's. `home`: that of
 * the app's home, else the directory's. `directory`: only that, about another home than is known. `than` is what the caches said, and
 * `because` says why that is not enough: it picks the bound in lookup-bounds.ts.
 */
export type Question =
  | { trust: "cache"; appid: string; inMemory: boolean }
  | { trust: "home"; because: "gate_refused"; than: Credentials }
  | { trust: "home"; because: "signature_failed"; than: Credentials; client: string }
  | { trust: "home"; because: "refused_anyway"; than: Credentials; signature: string }
  | { trust: "directory"; than: Credentials; client: string };

export type Source = "isolate" | "kv" | "d1";

/** An app's credentials, and the layer that they were read from. */
export interface Found {
  credentials: Credentials;
  source: Source;
}

/** How long the request lives that a look-up serves. */
export interface Lifetime {
  /** Registers what goes on after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
  /** Deadline for D1's answer, in milliseconds of the runtime's `elapsed`. */
  answerBy: number;
}
