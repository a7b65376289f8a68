import { HOME_NAME } from "../../../core/homes.ts";
import { noteHome } from "../../http/context.ts";
import { createSite, newSiteSchema } from "../../services/sites.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";
import { firstChatId, newSiteName, site, siteSchema } from "./site.ts";

export default adminCall(
  {
    id: "createSite",
    method: "post",
    path: "/sites",
    role: "operator",
    scope: "deployment",
    audit: ["site.begun", "site.created"],
    body: newSiteSchema,
    status: 201,
    response: siteSchema,
  },
  (c, { body: { name, home, first_chat_id: firstChatId } }) => {
    noteHome(c, home);
    return createSite(c.var.ctx, { name, home, firstChatId });
  },
);

export const documentation = (): CallDocumentation => ({
  summary: "Create a site",
  chinese: "创建站点",
  description:
    "Makes the site in a home, a database near its callers. It stays there. When the answer was lost, send the same call again: it finishes a site that was begun. A call that was finished makes another site.",
  body: {
    name: "NewSite",
    fields: {
      name: newSiteName(),
      home: {
        description: "The home to make it in, by its name. A site stays in its home.",
        pattern: HOME_NAME.source,
        examples: ["apac"],
      },
      first_chat_id: firstChatId(" Above 1 it needs the role `owner`."),
    },
  },
  response: site(),
  refusals: [409],
  answered: "The site was created.",
});
