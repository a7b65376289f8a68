import type { MiddlewareHandler } from "hono";
import { checkAdminToken } from "../../services/admin-token.ts";
import { clientAddress } from "../client-address.ts";
import type { AdminEnv } from "./env.ts";

/** Requires `Authorization: Bearer ADMIN_TOKEN`. A client address with too many failures is refused. */
export const requireAdmin: MiddlewareHandler<AdminEnv> = async function requireAdminToken(c, next) {
  const token = /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
  await checkAdminToken(c.var.ctx, { token, client: clientAddress(c.req.raw) });
  await next();
};
