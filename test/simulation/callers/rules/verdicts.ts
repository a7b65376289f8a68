import { type App, type HomeModel, keyName, type Session } from "../../checker/home-model.ts";
import { type Model, usedName } from "../../checker/model.ts";
import { hasKeyOf } from "../../checker/seals.ts";
import { NONCE_SECONDS, WHOLE_LIMIT_MS } from "../../erasure/rules/periods.ts";
import type { Call } from "../../world/call.ts";
import type { Settings } from "../../world/cloud/settings.ts";
import { isInForce, type SignedCall, wasOnceInForce } from "./signatures.ts";

/** Refusals that write nothing, not even the ranstr. */
type UntouchedReason = "home_closed" | "unsigned" | "stale" | "used" | "site_closed" | "seal_unknown";

/** The contract's result of a request, for what is stored at one moment. */
export type Verdict =
  | { kind: UntouchedReason }
  /** This verdict and those below use up the ranstr. */
  /** A rule of the operation refuses the call, or it is `key_reused`. */
  | { kind: "refused"; reason: string }
  | { kind: "repeated"; sessionId: number }
  | { kind: "accepted"; sessionId: number; ignored: string[] };

export type WritingVerdict = Extract<Verdict, { kind: "refused" | "repeated" | "accepted" }>;

/** A signed call, watched from its arrival on. */
export interface WatchedCall extends SignedCall {
  /** The verdicts that were right at some moment since the call's arrival, by their text. */
  possible: Map<string, Verdict>;
  /** The call's verdict when it wrote, the agents who joined, and the session if it existed before. */
  commit: { verdict: WritingVerdict; agents: readonly unknown[]; session: Session | undefined } | undefined;
}

/** The names under which lines of the trace mention the call. */
export const aboutOf = ({ call, reading }: SignedCall): string[] => [call.name, reading.appid];

export const isWriting = (verdict: Verdict): verdict is WritingVerdict =>
  verdict.kind === "refused" || verdict.kind === "repeated" || verdict.kind === "accepted";

/** How long after its opening a site may still look closed to calls in flight and to isolates that believe so. */
const CLOSED_MS = WHOLE_LIMIT_MS + 1_000;

/**
 * The verdicts that a request may get at this moment. There are several when several rules refuse the request and their
 * order is not promised, or when caches decide.
 */
export function verdictsOf(model: Model, signed: SignedCall): Verdict[] {
  const { appid } = signed.reading;
  const verdicts: Verdict[] = [];
  for (const home of model.homes.values()) {
    for (const app of home.apps.values()) {
      if (app.appid === appid) verdicts.push(...verdictsAt(model, home, app, signed));
    }
  }
  // A replay is refused from memory, even when the app was deleted with its site.
  const isReplay = useOf(model, signed) !== "none";
  if (verdicts.length === 0 && isReplay && wasOnceInForce(model, signed)) verdicts.push({ kind: "used" });
  // Without a route, or with a route to another site, the caches decide whether the isolate finds the app.
  const isFound = model.listedApp(appid) !== undefined;
  if (!isFound || verdicts.length === 0) verdicts.push({ kind: "unsigned" });
  // A cache may name a closed home for the app, even if that home has lost the app.
  if (!isFound && signed.call.settings.closedHomes.length > 0) verdicts.push({ kind: "home_closed" });
  return verdicts;
}

/** The verdicts of a request for an app of this home. */
export function verdictsAt(model: Model, home: HomeModel, app: App, signed: SignedCall): Verdict[] {
  const { call, reading } = signed;
  const { settings } = call;
  const verdicts: Verdict[] = [];
  if (settings.closedHomes.includes(home.name)) return [{ kind: "home_closed" }];
  if (!areSealsKnown(app, settings)) verdicts.push({ kind: "seal_unknown" });
  const { operation, timestamp, operationInput, key } = reading;
  if (!isInForce(model, app, signed)) {
    // A replay is refused from memory, without D1: docs/decisions.md, "unknown or revoked appid".
    if (useOf(model, signed) !== "none" && wasOnceInForce(model, signed)) verdicts.push({ kind: "used" });
    return [...verdicts, { kind: "unsigned" }];
  }
  // The overlap of a rotation may end while the call is in flight.
  if (!isInForce(model, app, signed, call.isolate?.clock)) verdicts.push({ kind: "unsigned" });
  if (Math.abs(call.clock - timestamp) > settings.toleranceSeconds) return [...verdicts, { kind: "stale" }];
  const use = useOf(model, signed);
  if (use !== "none") verdicts.push({ kind: "used" });
  if (home.sites.get(app.siteId)?.status !== "open") return [...verdicts, { kind: "site_closed" }];
  if (isBelievedClosed(model, home, app, call)) verdicts.push({ kind: "site_closed" });
  if (use === "remembered") return verdicts;
  const keptKey = key === null ? undefined : home.keys.get(keyName(app.siteId, app.appid, operation.name, key));
  if (keptKey !== undefined && keptKey.expiresAt > call.clock) {
    return keptKey.fingerprint === reading.fingerprint
      ? [...verdicts, { kind: "repeated", sessionId: keptKey.sessionId }]
      : [...verdicts, { kind: "refused", reason: "key_reused" }];
  }
  const decided = operation.decide({ home, app }, operationInput);
  if (typeof decided === "string") return [...verdicts, { kind: "refused", reason: decided }];
  return [...verdicts, { kind: "accepted", ignored: [], ...decided }];
}

/**
 * docs/operating/sites-and-secrets.md, "Closing a site or a home": after several answers that a site is closed, an isolate believes so
 * for a second.
 */
function isBelievedClosed(model: Model, home: HomeModel, { siteId }: App, { arrivedAt }: Call): boolean {
  const reopenedAt = model.reopenedAt.get(`${home.name}/${siteId}`);
  return reopenedAt !== undefined && (arrivedAt ?? 0) < reopenedAt + CLOSED_MS;
}

/**
 * Whether another call has used the ranstr. The same bytes are never accepted again. A ranstr is remembered for at
 * least 1,860 s. After that, another signed body with the same ranstr may be accepted.
 */
function useOf(model: Model, { call, reading }: SignedCall): "none" | "remembered" | "perhaps" {
  const user = model.usedRanstrs.get(usedName(reading.appid, reading.ranstr));
  if (user === undefined || user === call) return "none";
  return user.wire.body === call.wire.body || call.clock < user.clock + NONCE_SECONDS ? "remembered" : "perhaps";
}

/**
 * Whether the deployment has the master keys that sealed the app's secrets. While the master key is being changed,
 * isolates of the old deployment lack the new key.
 */
const areSealsKnown = ({ row }: App, settings: Settings): boolean =>
  [row.secret, row.previous_secret].every((seal) => seal == null || hasKeyOf(settings, seal));
