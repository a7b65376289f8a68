import { type AuditLogEntry, auditQuerySchema, listAuditLog } from "../../services/audit.ts";
import { adminCall } from "./call.ts";
import { shownPage } from "./page.ts";

const shownAuditEntry = ({ home, id, at, actor, action, subject, siteId, requestId, details }: AuditLogEntry) => ({
  home,
  id,
  at,
  actor,
  action,
  subject,
  site_id: siteId,
  request_id: requestId,
  details,
});

export const auditCalls = [
  adminCall(
    {
      id: "listAuditLog",
      method: "get",
      path: "/audit",
      role: "owner",
      scope: "deployment",
      audit: [],
      query: auditQuerySchema,
    },
    async (c, { query: { site_id: siteId, ...query } }) => {
      const log = await listAuditLog(c.var.ctx, { siteId, ...query });
      return c.json({ ...shownPage(log, shownAuditEntry), homes_down: log.homesDown });
    },
  ),
];
