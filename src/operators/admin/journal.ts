import {
  type AcceptedCall,
  findCall,
  findRefusal,
  listRefusals,
  type Refusal,
  refusalQuerySchema,
  wireNameOf,
} from "../services/journal.ts";
import { adminCall } from "./call.ts";
import { shownPage } from "./page.ts";

const shownRefusal = (refusal: Refusal) => ({
  request_id: refusal.requestId,
  at: refusal.at,
  appid: refusal.appid,
  operation: wireNameOf(refusal.operation),
  status: refusal.status,
  reason: refusal.reason,
  detail: refusal.detail,
  secret: refusal.secret,
  client: refusal.client,
  skipped: refusal.skipped,
});

const shownAcceptedCall = ({ outcome, sessionId, at, appid, operation }: AcceptedCall) => ({
  outcome,
  chat_id: sessionId,
  at,
  appid,
  operation: wireNameOf(operation),
});

export const journalCalls = [
  adminCall(
    {
      id: "listRefusals",
      method: "get",
      path: "/sites/:site_id/refusals",
      role: "viewer",
      scope: "site",
      audit: [],
      query: refusalQuerySchema,
    },
    async (c, { site, query }) => c.json(shownPage(await listRefusals(c.var.ctx, { site, ...query }), shownRefusal)),
  ),

  adminCall(
    {
      id: "readCall",
      method: "get",
      path: "/sites/:site_id/requests/:request_id",
      role: "viewer",
      scope: "site",
      audit: [],
    },
    async (c, { site }) => {
      const found = await findCall(c.var.ctx, { site, requestId: c.req.param("request_id") ?? "" });
      if (found.refusal === undefined) return c.json(shownAcceptedCall(found.accepted));
      const { refusal, sessionId } = found;
      return c.json({ ...shownRefusal(refusal), ...(sessionId !== null && { chat_id: sessionId }) });
    },
  ),

  adminCall(
    {
      id: "findRefusal",
      method: "get",
      path: "/requests/:request_id",
      role: "viewer",
      scope: "sites",
      audit: [],
    },
    async (c) => {
      const refusal = await findRefusal(c.var.ctx, c.req.param("request_id") ?? "");
      return c.json({ site_id: refusal.siteId, ...shownRefusal(refusal) });
    },
  ),
];
