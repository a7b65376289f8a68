import type { MiddlewareHandler } from "hono";
import { ServiceError } from "../../errors.ts";
import { CLIENT_LIMIT_PERIOD, failureKey, withinRate } from "../../rate-limit.ts";
import { clientAddress } from "../client-address.ts";
import type { App } from "../context.ts";
import { configOf } from "../context.ts";
import { Problem } from "./problem.ts";

/** Lets a request pass that carries `Authorization: Bearer ADMIN_TOKEN`; failures are counted by client address. */
export const requireAdmin: MiddlewareHandler<App> = async function requireAdminToken(c, next) {
  c.header("cache-control", "no-store");
  const { adminToken, adminTokenFault, clientLimit } = configOf(c);
  const given = /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
  if (given === undefined || adminToken === undefined || !(await isSame(given, adminToken))) {
    if (!(await withinRate(c.var.isolate.runtime, clientLimit, failureKey("operator", clientAddress(c.req.raw))))) {
      throw new ServiceError("too_many_requests", { reason: "client_limit", retryAfter: CLIENT_LIMIT_PERIOD });
    }
    const detail =
      adminTokenFault === undefined
        ? "Send the admin token as Authorization: Bearer <token>."
        : `No token opens this deployment: its ADMIN_TOKEN ${adminTokenFault}.`;
    throw new Problem(401, "Unauthorized", detail, { headers: { "www-authenticate": "Bearer" } });
  }
  await next();
};

/** Compares digests, so that neither content nor length shows in the time it takes. */
export async function isSame(given: string, expected: string): Promise<boolean> {
  const digest = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [a, b] = await Promise.all([digest(given), digest(expected)]);
  return crypto.subtle.timingSafeEqual(a, b);
}
