import { findRefusal } from "../../services/find-call.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, siteId } from "../words.ts";
import { findOrTell, refusalOfSiteSchema } from "./calls-around.ts";
import { refusal, withWireName } from "./refusal.ts";

export default adminCall(
  {
    id: "findRefusal",
    method: "get",
    path: "/requests/:request_id",
    role: "viewer",
    scope: "sites",
    audit: [],
    response: refusalOfSiteSchema,
  },
  async (c) => withWireName(await findOrTell(c, undefined, (requestId) => findRefusal(c.var.ctx, requestId))),
);

export const documentation = (): CallDocumentation => ({
  summary: "Find a refused call by its request id, on any site",
  chinese: "按请求 ID 在所有站点查找被拒绝的调用",
  description:
    "Asks every home. 404 only when every home has answered; else 503, and `homes_down` names those that did not. Accepted calls are found by their site only. A request id holds its time, so the 404 tells what was around it: `at`, `around` and `left_out`, and `homes_down` if homes do not answer that.",
  response: { name: "RefusalOfSite", fields: { site_id: siteId(), ...refusal() } },
  refusals: [404],
  answered: "The refused call, and its site.",
});
