import { call } from "../../operator/call.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { sitePage } from "./site-page.tsx";
import {
  closePage,
  postClose,
  postEventsOff,
  postEventsOn,
  postOpen,
  postSettings,
  settingsPage,
} from "./site-settings.tsx";
import { postSite, sitesPage } from "./sites-page.tsx";
import { postFinish } from "./unfinished-site.tsx";

const ALL = { role: "owner", scope: "deployment" } as const;
const SITE = { role: "owner", scope: "site" } as const;

export const SITES_CALLS: ConsoleCall[] = [
  call({ ...ALL, method: "get", path: "/", audit: [] }, (c: PageContext) => sitesPage(c)),
  // An operator who cuts off the end of a site's address comes here.
  call({ ...ALL, method: "get", path: "/sites", audit: [] }, (c) => c.redirect("/console", 303)),
  call({ ...ALL, method: "post", path: "/sites", audit: ["site.begun", "site.created"] }, postSite),
  call({ ...SITE, method: "get", path: "/sites/:site_id", audit: [] }, sitePage),
  call({ ...SITE, method: "post", path: "/sites/:site_id/finish", audit: ["site.created"] }, postFinish),
  call({ ...SITE, method: "get", path: "/sites/:site_id/settings", audit: [] }, settingsPage),
  call(
    { ...SITE, method: "post", path: "/sites/:site_id/settings", audit: ["site.renamed", "site.first_chat_id_set"] },
    postSettings,
  ),
  call({ ...SITE, method: "get", path: "/sites/:site_id/close", audit: [] }, closePage),
  call({ ...SITE, method: "post", path: "/sites/:site_id/close", audit: ["site.closed"] }, postClose),
  call({ ...SITE, method: "post", path: "/sites/:site_id/open", audit: ["site.opened"] }, postOpen),
  call({ ...SITE, method: "post", path: "/sites/:site_id/events/on", audit: ["site.events_on"] }, postEventsOn),
  call({ ...SITE, method: "post", path: "/sites/:site_id/events/off", audit: ["site.events_off"] }, postEventsOff),
];
