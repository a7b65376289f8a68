import { noteHome } from "../http/context.ts";
import { shownCustomer, shownSession } from "../http/shown-customer.ts";
import { type DeletionProgress, deleteSite, readDeletion, siteDeletionSchema } from "../services/delete-site.ts";
import { areKeptByOperator } from "../services/erase-customer.ts";
import { type ExportedSite, exportSite, siteExportQuerySchema } from "../services/export-site.ts";
import { pageQuerySchema } from "../services/page.ts";
import {
  changeSite,
  createSite,
  hasEnded,
  listSites,
  newSiteSchema,
  readRetention,
  type Site,
  siteChangeSchema,
} from "../services/sites.ts";
import { adminCall } from "./call.ts";
import { shownPage } from "./page.ts";

const shownSite = ({ id, name, home, status }: Omit<Site, "createdAt">) => ({ id, name, home, status });

/** Only the site's home knows `events`, so lists of sites leave it out. */
const shownChangedSite = ({ events, ...site }: Site & { events: boolean }) => ({
  ...shownSite(site),
  events,
  retention_days: site.retentionDays,
});

const shownDeletion = ({ deletion, remaining }: DeletionProgress) => ({
  deletion_id: deletion.id,
  begun_at: deletion.begunAt,
  done_at: deletion.doneAt,
  remaining,
});

/** A line of an export: a line of NDJSON is one JSON value. */
const lineOf = (kind: string, value: object) => `${JSON.stringify({ kind, ...value })}\n`;

/** `kind` says what a line is, so the session's own kind has another name. */
const sessionLine = ({ kind, ...session }: ReturnType<typeof shownSession>, sbs: string) =>
  lineOf("session", { ...session, session_kind: kind, sbs });

const shownApp = ({ appid, name, revokedAt, createdAt }: ExportedSite["apps"][number]) => ({
  appid,
  name,
  revoked_at: revokedAt,
  created_at: createdAt,
});

function exportLines({ site, agents, apps, sessions: found, next }: ExportedSite): string {
  const customerOf = new Map(found.customers.map((customer) => [customer.firstChatId, customer]));
  const joined = Map.groupBy(found.participants, ({ sessionId }) => sessionId);
  const said = Map.groupBy(found.messages, ({ sessionId }) => sessionId);
  const lines = [
    ...(site === undefined ? [] : [lineOf("site", shownSiteEntry(site))]),
    ...agents.map(({ id, name, status }) => lineOf("agent", { id, name, status })),
    ...apps.map((app) => lineOf("app", shownApp(app))),
    ...found.sessions.flatMap((session) => {
      const { id, customerExternalId: sbs } = session;
      const customer = customerOf.get(id);
      const whole = { ...session, participants: joined.get(id) ?? [], messages: said.get(id) ?? [] };
      return [
        ...(customer === undefined ? [] : [lineOf("customer", shownCustomer(customer))]),
        sessionLine(shownSession(whole), sbs),
      ];
    }),
    lineOf("end", { next }),
  ];
  return lines.join("");
}

/** Of a site that ends. */
const NO_SETTINGS = { events: false, days: null, oldestAt: null, older: null };

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
      id: "readSite",
      method: "get",
      path: "/sites/:site_id",
      role: "viewer",
      scope: "site",
      endedToo: true,
      audit: [],
    },
    async (c, { site }) => {
      const { ctx } = c.var;
      const deletion = await readDeletion(ctx, { site });
      // A restored directory may not know yet that the site has ended.
      const isThere = !hasEnded(site) && deletion?.deletion.doneAt == null;
      const { events, ...retention } = isThere ? await readRetention(ctx, { site }) : NO_SETTINGS;
      return c.json({
        ...shownSiteEntry(site),
        events,
        retention_days: retention.days,
        oldest_session_at: retention.oldestAt,
        sessions_to_go: retention.older,
        deletion: deletion === undefined ? null : shownDeletion(deletion),
      });
    },
  ),

  adminCall(
    {
      id: "exportSite",
      method: "get",
      path: "/sites/:site_id/export",
      role: "owner",
      scope: "site",
      audit: ["site.exported"],
      query: siteExportQuerySchema,
    },
    async (c, { site, query }) => {
      const lines = exportLines(await exportSite(c.var.ctx, { site, ...query }));
      return c.body(lines, 200, { "content-type": "application/x-ndjson" });
    },
  ),

  adminCall(
    {
      id: "deleteSite",
      method: "delete",
      path: "/sites/:site_id",
      role: "owner",
      scope: "site",
      endedToo: true,
      audit: ["site.deletion_begun"],
      body: siteDeletionSchema,
    },
    async (c, { site, body: { name } }) => {
      const { id, siteId, hash } = await deleteSite(c.var.ctx, { site, name });
      const kept = { deletion_id: id, site_id: siteId, hash };
      return c.json({ deletion_id: id, ...(areKeptByOperator(c.var.ctx) && { deletions: [kept] }) }, 202);
    },
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
        "site.retention_set",
      ],
      body: siteChangeSchema,
    },
    async (c, { site, body: { first_chat_id: firstChatId, retention_days: retentionDays, ...change } }) =>
      c.json(
        shownChangedSite(await changeSite(c.var.ctx, { site, change: { ...change, firstChatId, retentionDays } })),
      ),
  ),
];
