import { LookUpTurns } from "../../core/credentials/look-up-turns.ts";
import { remember } from "../../core/credentials/remember.ts";
import type { Runtime } from "../../core/runtime.ts";
import { ExceededLimits } from "../../core/signed/rate-limit.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import { AccessKeys } from "../access/certs.ts";
import { CallsInFlight } from "./calls-in-flight.ts";
import type { Identity } from "./identity.ts";

/** How long an isolate remembers a token, for times when the directory does not answer. */
const REMEMBERED_MS = 300_000;

/** What an isolate remembers of operators between calls. */
export class OperatorMemory {
  readonly limits: ExceededLimits;
  readonly turns: LookUpTurns;
  /** The calls of tokens for programs and of people that are in flight. */
  readonly calls: CallsInFlight;
  readonly accessKeys: AccessKeys;
  /** For each network, the hour in which the root's reads last left a row in the audit log. */
  readonly rootReads = new Map<string, number>();
  /** By surface: when the last row about refused sign-ins was written, and how many were refused since. */
  readonly refused = new Map<string, { at: number; count: number }>();
  readonly #runtime: Runtime;
  readonly #tokens = new Map<string, { identity: Identity; until: number }>();

  constructor(runtime: Runtime, telemetry: Telemetry) {
    this.#runtime = runtime;
    this.limits = new ExceededLimits(runtime);
    this.turns = new LookUpTurns(runtime);
    this.calls = new CallsInFlight(runtime);
    this.accessKeys = new AccessKeys(runtime, telemetry);
  }

  /** The identity of a token that the directory confirmed in the last five minutes. @param hash of the token */
  identityOf(hash: string): Identity | undefined {
    const known = this.#tokens.get(hash);
    return known !== undefined && known.until > this.#runtime.now() ? known.identity : undefined;
  }

  /** @param expiresAt of the token, Unix seconds; null for never */
  rememberToken(hash: string, identity: Identity, expiresAt: number | null): void {
    const until = Math.min(this.#runtime.now() + REMEMBERED_MS, (expiresAt ?? Number.POSITIVE_INFINITY) * 1000);
    remember(this.#tokens, hash, { identity, until });
  }

  forgetToken(hash: string): void {
    this.#tokens.delete(hash);
  }
}
