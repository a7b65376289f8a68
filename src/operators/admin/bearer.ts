import { clientAddress } from "../../core/http/client-address.ts";
import { isRead } from "../http/context.ts";
import { identifyBearer } from "../services/identify.ts";
import { noteRootRead } from "../services/sign-in-log.ts";
import type { AdminContext } from "./env.ts";

/**
 * Finds the owner of a call's token: `Authorization: Bearer` with the ADMIN_TOKEN or with a token for programs. An assertion of
 * Cloudflare Access is ignored here, because it comes in a cookie.
 *
 * @throws ServiceError as {@link identifyBearer} does, also for a client address with too many failures and a token over its limits
 */
export async function identifyProgram(c: AdminContext): Promise<undefined> {
  const token = /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
  const about = { siteId: Number(c.req.param("site_id")) || undefined, appid: c.req.param("appid") };
  const givenToken = { token, client: clientAddress(c.req.raw) };
  const reads = isRead(c.req.raw);
  const { identity, foundByDirectory } = await identifyBearer(c.var.ctx, givenToken, about, reads);
  const ctx = { ...c.var.ctx, identity };
  c.set("ctx", ctx);
  c.set("foundByDirectory", foundByDirectory);
  if (identity.who.kind === "root" && reads) noteRootRead(ctx);
}
