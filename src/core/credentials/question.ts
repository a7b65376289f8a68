import type { Runtime } from "../runtime.ts";
import type { KnownPlace } from "./find-app.ts";
import type { Credentials } from "./open-secrets.ts";

/**
 * A question for an app's credentials. `trust` says who is asked:
 * - `cache`: the isolate, then KV, then D1. With `inTurn`, D1 is asked only in a turn of look-up-turns.ts;
 * - `home`: the app's home, then the directory;
 * - `directory`: the directory. Its answer counts only when it names another home.
 *
 * `cached` is the record that the caches had. `bound` says how often D1 may be asked, see look-up-bounds.ts: for every request, once for
 * all of an `address` (`client`), or to confirm what is known, once a second for a `signature`.
 */
export type Question =
  | { trust: "cache"; appid: string; inTurn: boolean }
  | {
      trust: "home" | "directory";
      bound: "none" | "address" | "signature";
      cached: Credentials;
      client: string;
      signature: string | undefined;
    };

export type CredentialsSource = "isolate" | "kv" | "d1";

/** An app's credentials, and the layer that they were read from. */
export interface FoundApp {
  credentials: Credentials;
  source: CredentialsSource;
}

/** What a look-up uses of the request that it serves. */
export interface Lifetime {
  runtime: Runtime;
  /** Registers work that goes on after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
  /** Deadline for D1's answer, in milliseconds of the runtime's `elapsed`. */
  answerBy: number;
  /** Called as soon as the directory names the app's place, even when the look-up then fails or finds no app. */
  onRoute?: (place: KnownPlace) => void;
}
