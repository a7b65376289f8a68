import { call } from "../../http/call.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { closePage } from "./close-site.tsx";
import { eventsOffPage, postEventsOff } from "./events-off.tsx";
import { chatIdPage, postChatId } from "./next-chat-id.tsx";
import { postRetention, retentionPage } from "./retention.tsx";
import { deletePage, postDelete } from "./site-deletion.tsx";
import { sitePage } from "./site-page.tsx";
import { postClose, postEventsOn, postOpen, postSettings, settingsPage } from "./site-settings.tsx";
import { postSite, sitesPage } from "./sites-page.tsx";
import { postFinish } from "./unfinished-site.tsx";

const SEE_ALL = { role: "viewer", scope: "sites" } as const;
const CHANGE_ALL = { role: "operator", scope: "deployment" } as const;
const VIEWER_OF_SITE = { role: "viewer", scope: "site" } as const;
const OPERATOR_OF_SITE = { role: "operator", scope: "site" } as const;
const OWNER_OF_SITE = { role: "owner", scope: "site" } as const;

export const SITES_CALLS: ConsoleCall[] = [
  call({ ...SEE_ALL, method: "get", path: "/", audit: [] }, (c: PageContext) => sitesPage(c)),
  // An operator who deletes the end of a site's address comes here.
  call({ ...SEE_ALL, method: "get", path: "/sites", audit: [] }, (c) => c.redirect("/console", 303)),
  call({ ...CHANGE_ALL, method: "post", path: "/sites", audit: ["site.begun", "site.created"] }, postSite),
  call({ ...VIEWER_OF_SITE, method: "get", path: "/sites/:site_id", endedToo: true, audit: [] }, sitePage),
  call({ ...OPERATOR_OF_SITE, method: "post", path: "/sites/:site_id/finish", audit: ["site.created"] }, postFinish),
  call({ ...VIEWER_OF_SITE, method: "get", path: "/sites/:site_id/settings", audit: [] }, settingsPage),
  call(
    { ...OPERATOR_OF_SITE, method: "post", path: "/sites/:site_id/settings", audit: ["site.renamed"] },
    postSettings,
  ),
  call({ ...OWNER_OF_SITE, method: "get", path: "/sites/:site_id/first-chat-id", audit: [] }, chatIdPage),
  call(
    { ...OWNER_OF_SITE, method: "post", path: "/sites/:site_id/first-chat-id", audit: ["site.first_chat_id_set"] },
    postChatId,
  ),
  call({ ...OPERATOR_OF_SITE, method: "get", path: "/sites/:site_id/close", audit: [] }, closePage),
  call({ ...OPERATOR_OF_SITE, method: "post", path: "/sites/:site_id/close", audit: ["site.closed"] }, postClose),
  call({ ...OPERATOR_OF_SITE, method: "post", path: "/sites/:site_id/open", audit: ["site.opened"] }, postOpen),
  call(
    { ...OPERATOR_OF_SITE, method: "post", path: "/sites/:site_id/events/on", audit: ["site.events_on"] },
    postEventsOn,
  ),
  call({ ...OPERATOR_OF_SITE, method: "get", path: "/sites/:site_id/events/off", audit: [] }, eventsOffPage),
  call(
    { ...OPERATOR_OF_SITE, method: "post", path: "/sites/:site_id/events/off", audit: ["site.events_off"] },
    postEventsOff,
  ),
  call({ ...OWNER_OF_SITE, method: "get", path: "/sites/:site_id/retention", audit: [] }, retentionPage),
  call(
    { ...OWNER_OF_SITE, method: "post", path: "/sites/:site_id/retention", audit: ["site.retention_set"] },
    postRetention,
  ),
  call({ ...OWNER_OF_SITE, method: "get", path: "/sites/:site_id/delete", endedToo: true, audit: [] }, (c, site) =>
    deletePage(c, site),
  ),
  call(
    {
      ...OWNER_OF_SITE,
      method: "post",
      path: "/sites/:site_id/delete",
      endedToo: true,
      audit: ["site.deletion_begun"],
    },
    postDelete,
  ),
];
