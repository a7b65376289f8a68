import * as z from "zod/mini";
import { changeSite, siteChangeSchema } from "../../services/sites.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";
import { firstChatId, leavesEvents, newSiteName, retentionDays, site, siteSchema } from "./site.ts";

export default adminCall(
  {
    id: "changeSite",
    method: "patch",
    path: "/sites/:site_id",
    role: "operator",
    scope: "site",
    audit: [
      "site.renamed",
      "site.opened",
      "site.closed",
      "site.first_chat_id_set",
      "site.events_on",
      "site.events_off",
      "site.retention_set",
    ],
    body: siteChangeSchema,
    response: z.extend(siteSchema, { events: z.boolean(), retention_days: z.nullable(z.int()) }),
  },
  (c, { site, body: { first_chat_id: firstChatId, retention_days: retentionDays, ...change } }) =>
    changeSite(c.var.ctx, { site, change: { ...change, firstChatId, retentionDays } }),
);

export const documentation = (): CallDocumentation => ({
  summary:
    "Rename, close or open a site, lift its chat ids, turn its events on or off, or set how long it keeps sessions",
  chinese: "更改站点：改名、关闭或打开、会话编号（chat_id）跳号、开关事件、设置会话保留时间",
  description:
    "Signed calls of a closed site are refused with 503 and use up no `ranstr`. All of the change is made, or nothing. The same call again repairs what was only done in part.",
  body: {
    name: "SiteChange",
    fields: {
      name: newSiteName(),
      status: { description: "Signed calls of a closed site are refused with 503.", examples: ["closed"] },
      first_chat_id: firstChatId(
        " It must be above every id that the site has given or skipped, or be what was set last. Needs the role `owner`.",
      ),
      events: {
        description: "Whether accepted calls leave events from now on. The first webhook of a site turns them on.",
        examples: [true],
      },
      retention_days: {
        description:
          "For how many days sessions are kept; null for ever. Older sessions are deleted within minutes, with messages, participants and events, and customers without sessions. Needs the role `owner`.",
        examples: [365],
      },
    },
  },
  response: {
    name: "ChangedSite",
    fields: { ...site().fields, events: leavesEvents(), retention_days: retentionDays() },
  },
  answered: "The site as it is now.",
});
