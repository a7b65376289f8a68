import * as z from "zod/mini";
import { listHomes } from "../../services/homes.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, count, homeName } from "../words.ts";

const homeSchema = z.object({ name: z.string(), sites: z.int(), status: z.enum(["open", "closed", "down"]) });

export default adminCall(
  {
    id: "listHomes",
    method: "get",
    path: "/homes",
    role: "viewer",
    scope: "deployment",
    audit: [],
    response: z.object({ items: z.array(homeSchema) }),
  },
  async (c) => ({ items: await listHomes(c.var.ctx) }),
);

export const documentation = (): CallDocumentation => ({
  summary: "List the homes",
  chinese: "列出数据库（home）",
  description:
    "Every database that sites can be made in, `main` first, and every home that a site names although none is bound.",
  response: { name: "HomeList", fields: { items: { description: "All of them." } } },
  parts: [
    {
      name: "Home",
      schema: homeSchema,
      fields: {
        name: homeName(),
        sites: count("How many sites it has.", 12),
        status: {
          description:
            "`closed` after `npm run deploy -- --close NAME`, until it is opened; `down` when its database does not answer or is not bound.",
          examples: ["open"],
        },
      },
    },
  ],
  answered: "The homes.",
});
