import * as z from "zod/mini";
import { type AuditEntry, listAuditEntries } from "../store/audit-log.ts";
import { page, pageQuerySchema } from "./page.ts";

const SITE_RULE = "must be a site's id";

/** Query of GET /admin/audit. */
export const auditQuerySchema = z.extend(pageQuerySchema, {
  site_id: z.optional(z.pipe(z.string().check(z.regex(/^[1-9]\d{0,14}$/, SITE_RULE)), z.transform(Number))),
});

/** A page of what operators did, newest first; of one site, or of everything. */
export async function listAuditLog(db: D1Database, siteId: number | undefined, before: number, limit: number) {
  const rows = await listAuditEntries(db, siteId, before, limit + 1);
  return page(rows, limit, (entry) => entry.id, auditView);
}

function auditView({ siteId, details, ...entry }: AuditEntry) {
  return { ...entry, site_id: siteId, details: JSON.parse(details) as Record<string, unknown> };
}
