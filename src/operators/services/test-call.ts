import createSession from "../../core/operations/create-session.ts";
import { insertAudit } from "../store/audit.ts";
import type { Site } from "../store/directory/sites.ts";
import { readSecret } from "./app-secrets.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";

/** The customer of every test call, so that its sessions are found together and erased together. */
export const TEST_CUSTOMER = "console-test";

/** The words that a test call stores, in the operator's language. */
interface TestWords {
  title: string;
  customer: string;
  content: string;
}

/** A request as the app's own program would send it. */
export interface SignedTestCall {
  path: string;
  body: string;
  signature: string;
}

/**
 * Signs a call that opens a session, with the secret that the app uses now. The audit log gets a row before the call is sent, so that every
 * session has an operator who answers for it.
 *
 * @param input `version` of the secret that the operator saw; `agentId` becomes the responsible agent
 * @throws ServiceError `not_found`; `conflict`, reason `app_revoked` or `version_other`; `internal` when MASTER_KEY is wrong
 */
export async function signTestCall(
  ctx: ServiceContext,
  input: { site: Site; appid: string; version: string; agentId: number; words: TestWords },
): Promise<SignedTestCall> {
  const { site, appid, version, agentId, words } = input;
  const secret = await readSecret(ctx, { site, appid, version });
  const body = JSON.stringify({
    appid,
    timestamp: ctx.now,
    ranstr: ctx.runtime.uuid(),
    sbs: TEST_CUSTOMER,
    // An address that is reserved for examples: no customer has it.
    ip: "192.0.2.1",
    sbs_mc: words.customer,
    content: words.content,
    title: words.title,
    kefu_id: [agentId],
    fzr_uid: agentId,
  });
  const row = { siteId: site.id, action: "app.tested" as const, subject: appid, details: { agent_id: agentId } };
  await insertAudit(homeOf(ctx, site), authorOf(ctx), row);
  return { path: createSession.path, body, signature: await hexHmac(secret, body) };
}

async function hexHmac(secret: string, body: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(body))).toHex();
}
