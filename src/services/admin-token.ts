import { ServiceError } from "../errors.ts";
import { CLIENT_LIMIT_PERIOD, failureKey, withinRate } from "../signed/rate-limit.ts";
import type { ServiceContext } from "./service-context.ts";

export interface GivenToken {
  /** Undefined when the request holds no token. */
  token: string | undefined;
  /** Failures are counted by this address. One count for all addresses would let anybody lock out the operator. */
  client: string;
}

/**
 * Requires that a token is this deployment's ADMIN_TOKEN.
 *
 * @throws ServiceError `unauthorized`, reason `admin_token_wrong`, or `admin_token_unusable` when the deployment has no usable one;
 *   `too_many_requests` for an address that failed too often
 */
export async function checkAdminToken({ runtime, config }: ServiceContext, given: GivenToken): Promise<void> {
  const { adminToken, adminTokenFault, clientLimit } = config;
  if (given.token !== undefined && adminToken !== undefined && (await isSame(given.token, adminToken))) return;
  if (!(await withinRate(runtime, clientLimit, failureKey("operator", given.client)))) {
    throw new ServiceError("too_many_requests", { reason: "client_limit", retryAfter: CLIENT_LIMIT_PERIOD });
  }
  if (adminTokenFault === undefined) throw new ServiceError("unauthorized", { reason: "admin_token_wrong" });
  const detail = `No token opens this deployment: its ADMIN_TOKEN ${adminTokenFault}.`;
  throw new ServiceError("unauthorized", { reason: "admin_token_unusable", detail });
}

/** Compares digests: comparing the tokens would take a time that tells their content and length. */
async function isSame(given: string, expected: string): Promise<boolean> {
  const digest = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [a, b] = await Promise.all([digest(given), digest(expected)]);
  return crypto.subtle.timingSafeEqual(a, b);
}
