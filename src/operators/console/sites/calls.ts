import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { exportPage, postExport } from "./export-site.tsx";
import { chatIdPage, postChatId, postRetention, retentionPage } from "./setting-questions.tsx";
import { deletePage, postDelete } from "./site-deletion.tsx";
import { postFinish, sitePage } from "./site-page.tsx";
import {
  closePage,
  eventsOffPage,
  postClose,
  postEventsOff,
  postEventsOn,
  postOpen,
  postSettings,
  settingsPage,
} from "./site-settings.tsx";
import { postSite, sitesPage } from "./sites-page.tsx";

export const SITES_CALLS: ConsoleCall[] = [
  page("viewer", "/", sitesPage, { scope: "sites" }),
  // An operator who deletes the end of a site's address comes here.
  page("viewer", "/sites", (c) => c.redirect("/console", 303), { scope: "sites" }),
  form("operator", "/sites", ["site.begun", "site.created"], postSite),
  page("viewer", "/sites/:site_id", sitePage, { endedToo: true }),
  form("operator", "/sites/:site_id/finish", ["site.created"], postFinish),
  page("viewer", "/sites/:site_id/settings", settingsPage),
  form("operator", "/sites/:site_id/settings", ["site.renamed"], postSettings),
  page("owner", "/sites/:site_id/first-chat-id", chatIdPage),
  form("owner", "/sites/:site_id/first-chat-id", ["site.first_chat_id_set"], postChatId),
  page("operator", "/sites/:site_id/close", closePage),
  form("operator", "/sites/:site_id/close", ["site.closed"], postClose),
  form("operator", "/sites/:site_id/open", ["site.opened"], postOpen),
  form("operator", "/sites/:site_id/events/on", ["site.events_on"], postEventsOn),
  page("operator", "/sites/:site_id/events/off", eventsOffPage),
  form("operator", "/sites/:site_id/events/off", ["site.events_off"], postEventsOff),
  page("owner", "/sites/:site_id/retention", retentionPage),
  form("owner", "/sites/:site_id/retention", ["site.retention_set"], postRetention),
  page("owner", "/sites/:site_id/export", exportPage),
  form("owner", "/sites/:site_id/export", ["site.exported"], postExport),
  page("owner", "/sites/:site_id/delete", deletePage, { endedToo: true }),
  form("owner", "/sites/:site_id/delete", ["site.deletion_begun"], postDelete, { endedToo: true }),
];
