import * as z from "zod/mini";
import { DIVERGENT_CURSOR, listDivergentApps } from "../../services/divergent-apps.ts";
import { pageQuerySchema } from "../../services/page.ts";
import { adminCall } from "../admin-call.ts";
import { homesPageSchema } from "../page.ts";
import { appid, type CallDocumentation, homesDown, page, pageQuery, siteId } from "../words.ts";
import { homeOf } from "./home-of.ts";

const divergentAppSchema = z.object({
  appid: z.string(),
  site_id: z.int(),
  why: z.enum(["missing", "revoked", "rotated", "unrouted"]),
});

export default adminCall(
  {
    id: "listDivergentApps",
    method: "get",
    path: "/homes/:name/divergent",
    role: "viewer",
    scope: "deployment",
    audit: [],
    query: pageQuerySchema,
    response: homesPageSchema(divergentAppSchema),
  },
  (c, { query }) => listDivergentApps(c.var.ctx, { home: homeOf(c), ...query }),
);

export const documentation = (): CallDocumentation => ({
  summary: "List the apps to look at after a restore",
  chinese: "列出恢复之后需要检查的应用",
  description:
    "The apps that the home knows otherwise than the directory or KV. Of `main`, also the apps of other homes that no route leads to; a home that does not answer is named in `homes_down`. A page compares at most 5,000 apps: it may have fewer items than `limit`, or none, and yet a `next_cursor`.",
  query: pageQuery(DIVERGENT_CURSOR.source),
  response: page("DivergentAppPage", { homes_down: homesDown() }),
  parts: [
    {
      name: "DivergentApp",
      schema: divergentAppSchema,
      fields: {
        appid: appid(),
        site_id: siteId(),
        why: {
          description:
            "`missing`: the directory leads to it, and the home does not have it; `revoked`: it was revoked, and now is not; `rotated`: it had another secret; `unrouted`: its home has it, and the directory does not lead to it.",
          examples: ["rotated"],
        },
      },
    },
  ],
  refusals: [404],
  answered: "A page of apps.",
});
