import type { Runtime } from "../runtime.ts";
import type { KnownPlace } from "./find-app.ts";
import type { Credentials } from "./open-secrets.ts";

/**
 * A question for an app's credentials. `trust` says whose answer is good enough:
 * - `cache`: the answer of the isolate, else of KV, else of D1; `inTurn` when D1 is asked in turn only: look-up-turns.ts;
 * - `home`: the answer of the app's home, else of the directory;
 * - `directory`: the answer of the directory, if it names another home.
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

/** What a look-up may use of the request that it serves. */
export interface Lifetime {
  /** The request's clock and timer. */
  runtime: Runtime;
  /** Registers work that goes on after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
  /** Deadline for D1's answer, in milliseconds of the runtime's `elapsed`. */
  answerBy: number;
  /** Called as soon as the directory has said where the appid belongs: also when the look-up then fails or finds no app. */
  onRoute?: (place: KnownPlace) => void;
}
