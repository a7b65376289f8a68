import { pageQuerySchema } from "../../services/page.ts";
import { changeSite, createSite, listSites, newSiteSchema, type Site, siteChangeSchema } from "../../services/sites.ts";
import { noteHome } from "../operator/context.ts";
import { adminCall } from "./call.ts";
import { shownPage } from "./page.ts";

const shownSite = ({ id, name, home, status }: Omit<Site, "createdAt">) => ({ id, name, home, status });

/** Only the site's home knows `events`, so lists of sites leave it out. */
const shownChangedSite = ({ events, ...site }: Site & { events: boolean }) => ({ ...shownSite(site), events });

const shownSiteEntry = ({ createdAt, ...site }: Site) => ({ ...shownSite(site), created_at: createdAt });

export const siteCalls = [
  adminCall(
    {
      id: "createSite",
      method: "post",
      path: "/sites",
      role: "operator",
      scope: "deployment",
      audit: ["site.begun", "site.created"],
      body: newSiteSchema,
    },
    async (c, { body: { name, home, first_chat_id: firstChatId } }) => {
      noteHome(c, home);
      return c.json(shownSite(await createSite(c.var.ctx, { name, home, firstChatId })), 201);
    },
  ),

  adminCall(
    {
      id: "listSites",
      method: "get",
      path: "/sites",
      role: "viewer",
      scope: "sites",
      audit: [],
      query: pageQuerySchema,
    },
    async (c, { query }) => c.json(shownPage(await listSites(c.var.ctx, query), shownSiteEntry)),
  ),

  adminCall(
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
      ],
      body: siteChangeSchema,
    },
    async (c, { site, body: { first_chat_id: firstChatId, ...change } }) =>
      c.json(shownChangedSite(await changeSite(c.var.ctx, { site, change: { ...change, firstChatId } }))),
  ),
];
