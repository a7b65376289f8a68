import * as z from "zod/mini";
import { findRefusal } from "../../services/journal.ts";
import { adminCall } from "../call.ts";
import { type CallDocumentation, siteId } from "../words.ts";
import { onTheWire, refusal, refusalSchema } from "./refusal.ts";

export default adminCall(
  {
    id: "findRefusal",
    method: "get",
    path: "/requests/:request_id",
    role: "viewer",
    scope: "sites",
    audit: [],
    response: z.object({ site_id: z.int(), ...refusalSchema.shape }),
  },
  async (c) => onTheWire(await findRefusal(c.var.ctx, c.req.param("request_id") ?? "")),
);

export const documentation = (): CallDocumentation => ({
  summary: "Find a refused call by its request id, on any site",
  description:
    "Asks every home. 404 only when every home has answered; else 503, and `homes_down` names those that did not. Accepted calls are found by their site only.",
  response: { name: "RefusalOfSite", fields: { site_id: siteId(), ...refusal() } },
  refusals: [404],
  row: "200, the refused call with its `site_id`, whichever site it is of. 404 only when every home has answered; else 503 with `homes_down`",
  answered: "The refused call, and its site.",
});
