import { ServiceError } from "../../core/errors.ts";
import { CLIENT_LIMIT_PERIOD, failureKey } from "../../core/signed/rate-limit.ts";
import type { ServiceContext } from "./service-context.ts";
import { noteRefused } from "./sign-in-log.ts";

export interface GivenToken {
  /** Undefined when the request holds no token. */
  token: string | undefined;
  /** Failures are counted by this address. One count for all addresses would let anybody lock out the operator. */
  client: string;
}

/**
 * Requires that a token is this deployment's ADMIN_TOKEN.
 *
 * @throws ServiceError as {@link refuseToken} does
 */
export async function checkAdminToken(ctx: ServiceContext, givenToken: GivenToken): Promise<void> {
  if (!(await isAdminToken(ctx, givenToken.token))) await refuseToken(ctx, givenToken, "admin_token_wrong");
}

export async function isAdminToken(
  { config: { adminToken } }: Pick<ServiceContext, "config">,
  token: string | undefined,
): Promise<boolean> {
  return token !== undefined && adminToken !== undefined && (await isSame(token, adminToken));
}

/** Why a token opens nothing, and the words for it. An ended token is refused like a token that never existed. */
const DETAILS = {
  admin_token_wrong: undefined,
  token_slip: "The token has a slip: its last six characters do not fit the others. Copy it again, whole.",
  token_expired: "The token has expired.",
  person_token_ended: undefined,
  person_token: "This is a person's token: it signs in at the console, and opens no call of the admin API.",
  person_token_slip:
    "This is a person's token, and a character of it is wrong or missing. It would open no call of the admin API either: it signs in at the console.",
} as const;

/**
 * Refuses a token, and counts the failure for its address.
 *
 * @throws ServiceError `unauthorized` with this reason, or `admin_token_unusable` when the deployment has no usable ADMIN_TOKEN;
 *   `too_many_requests` for an address that failed too often
 */
export async function refuseToken(
  ctx: ServiceContext,
  { token, client }: GivenToken,
  reason: keyof typeof DETAILS,
): Promise<never> {
  const { config, memory } = ctx;
  if (token !== undefined) noteRefused(ctx, reason);
  if (!(await memory.limits.count(config.clientLimit, failureKey("operator", client), CLIENT_LIMIT_PERIOD))) {
    throw tooManyFailures();
  }
  const { adminTokenFault } = config;
  if (adminTokenFault === undefined) {
    const detail = DETAILS[reason];
    throw new ServiceError("unauthorized", { reason, ...(detail !== undefined && { detail }) });
  }
  const detail = `No token opens this deployment: its ADMIN_TOKEN ${adminTokenFault}.`;
  throw new ServiceError("unauthorized", { reason: "admin_token_unusable", detail });
}

/**
 * Lets a client over its limit wait for a turn with an unknown token: otherwise one client could keep the directory busy.
 *
 * @param cached returns what another request has found meanwhile
 * @returns what `cached` returned; undefined when the token may be looked up now
 * @throws ServiceError `too_many_requests`
 */
export async function waitForTurn<T>(
  ctx: ServiceContext,
  { client }: GivenToken,
  id: string,
  cached: () => T | undefined,
): Promise<T | undefined> {
  if (!ctx.memory.limits.isExceeded(failureKey("operator", client))) return undefined;
  try {
    return await ctx.memory.turns.wait(id, cached);
  } catch (error) {
    noteRefused(ctx, "client_limit");
    throw error;
  }
}

const tooManyFailures = (): ServiceError =>
  new ServiceError("too_many_requests", { reason: "client_limit", retryAfter: CLIENT_LIMIT_PERIOD });

/** Compares digests: the time of comparing the tokens themselves would show their content and length. */
async function isSame(candidate: string, expected: string): Promise<boolean> {
  const digest = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [a, b] = await Promise.all([digest(candidate), digest(expected)]);
  return crypto.subtle.timingSafeEqual(a, b);
}
