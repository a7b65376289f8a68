import { errors, type JWTPayload, jwtVerify } from "jose";
import type { Runtime } from "../../core/runtime.ts";
import { type AccessKeys, CertsUnavailable } from "./certs.ts";
import { plainEmail } from "./person-role.ts";
import type { AccessSettings } from "./settings.ts";

export const ASSERTION_REASONS = [
  "assertion_malformed",
  "assertion_forged",
  "assertion_expired",
  "assertion_early",
  "assertion_audience",
  "assertion_issuer",
  "assertion_without_email",
  "certs_unavailable",
] as const;
export type AssertionReason = (typeof ASSERTION_REASONS)[number];

/** Who signed in by Cloudflare Access. Times are Unix seconds. */
export interface Person {
  /** In the form of {@link plainEmail}. */
  email: string;
  issuedAt: number;
  expiresAt: number;
}

export type AssertionResult = { ok: true; person: Person } | { ok: false; reason: AssertionReason };

export interface VerifyTools {
  runtime: Runtime;
  keys: AccessKeys;
  waitUntil: (work: Promise<unknown>) => void;
}

/** Bounds the work for a header that is no assertion: one of Access has about 1 KB. */
const MOST_CHARACTERS = 8_192;

/** Verifies a `Cf-Access-Jwt-Assertion`. It says who the person is; {@link roleOfEmail} says what the person may do. */
export async function verifyAssertion(
  { runtime, keys, waitUntil }: VerifyTools,
  { issuer, audience, certsUrl }: AccessSettings,
  assertion: string,
): Promise<AssertionResult> {
  if (assertion.length > MOST_CHARACTERS) return refusedAssertion("assertion_malformed");
  try {
    const { payload } = await jwtVerify(assertion, keys.keyFinder(certsUrl, waitUntil), {
      issuer,
      audience,
      algorithms: ["RS256"],
      currentDate: new Date(runtime.now()),
    });
    return personOf(payload);
  } catch (error) {
    return refusedAssertion(reasonOf(error));
  }
}

const refusedAssertion = (reason: AssertionReason): AssertionResult => ({ ok: false, reason });

/** An assertion of a service token names no person. */
function personOf({ email, exp, iat }: JWTPayload): AssertionResult {
  // jose checks these two only when they are present, so it would accept an assertion that never expires.
  if (exp === undefined || iat === undefined) return refusedAssertion("assertion_malformed");
  const plain = typeof email === "string" ? plainEmail(email) : undefined;
  if (plain === undefined) return refusedAssertion("assertion_without_email");
  return { ok: true, person: { email: plain, issuedAt: iat, expiresAt: exp } };
}

function reasonOf(error: unknown): AssertionReason {
  if (error instanceof CertsUnavailable) return "certs_unavailable";
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return "assertion_malformed";
  if (error instanceof errors.JWTExpired) return "assertion_expired";
  if (error instanceof errors.JWTClaimValidationFailed) return reasonOfClaim(error);
  // Another key or algorithm, a signature that does not fit, or a key that cannot be used: nothing shows that Access made it.
  return "assertion_forged";
}

function reasonOfClaim({ claim, reason }: errors.JWTClaimValidationFailed): AssertionReason {
  if (claim === "aud") return "assertion_audience";
  if (claim === "iss") return "assertion_issuer";
  return claim === "nbf" && reason === "check_failed" ? "assertion_early" : "assertion_malformed";
}
