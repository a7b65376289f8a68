import * as z from "zod/mini";
import { type AuditEntry, listAuditEntries } from "../store/audit-log.ts";
import { beforeId, type Page, type PageInput, pageOf, pageQuerySchema } from "./page.ts";
import type { ServiceContext } from "./service-context.ts";

export type { AuditAction } from "../store/audit-log.ts";

const SITE_RULE = "must be a site's id";

/** Query of GET /admin/audit. */
export const auditQuerySchema = z.extend(pageQuerySchema, {
  site_id: z.optional(z.pipe(z.string().check(z.regex(/^[1-9]\d{0,14}$/, SITE_RULE)), z.transform(Number))),
});

/** What an operator did. */
export type AuditLogEntry = Omit<AuditEntry, "details"> & { details: Record<string, unknown> };

/**
 * A page of the audit log, newest first; of all sites when none is given.
 *
 * @throws ServiceError `invalid_input` for a malformed cursor
 */
export async function listAuditLog(
  { config }: ServiceContext,
  input: PageInput & { siteId?: number | undefined },
): Promise<Page<AuditLogEntry>> {
  const rows = await listAuditEntries(config.directory, input.siteId, beforeId(input), input.limit + 1);
  const { items, nextCursor } = pageOf(rows, input.limit, ({ id }) => id);
  return { items: items.map(withDetails), nextCursor };
}

const withDetails = ({ details, ...entry }: AuditEntry): AuditLogEntry => ({
  ...entry,
  details: JSON.parse(details) as Record<string, unknown>,
});
