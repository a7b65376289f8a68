import { type AuditLogEntry, auditQuerySchema, listAuditLog } from "../services/audit.ts";
import { adminCall } from "./call.ts";
import { shownPage } from "./page.ts";

const shownAuditEntry = (entry: AuditLogEntry) => ({
  home: entry.home,
  id: entry.id,
  at: entry.at,
  actor: entry.actor,
  who: entry.who,
  address: entry.address,
  action: entry.action,
  subject: entry.subject,
  site_id: entry.siteId,
  request_id: entry.requestId,
  details: entry.details,
});

export const auditCalls = [
  adminCall(
    {
      id: "listAuditLog",
      method: "get",
      path: "/audit",
      role: "viewer",
      scope: "sites",
      audit: [],
      query: auditQuerySchema,
    },
    async (c, { query: { site_id: siteId, ...query } }) => {
      const log = await listAuditLog(c.var.ctx, { siteId, ...query });
      return c.json({ ...shownPage(log, shownAuditEntry), homes_down: log.homesDown });
    },
  ),
];
