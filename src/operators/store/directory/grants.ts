import { type Column, sql } from "drizzle-orm";
import type { AuditAction } from "../audit.ts";

type Value = string | number | null | Column;

/** The columns of a token or a person that its audit rows name, or their values. Only a person has an e-mail address. */
type GrantColumns = Record<"id" | "name" | "role" | "siteId" | "expiresAt", Value> & { email?: Value };

/** D1 binds every number as a real, which JSON would show as `1.0`. */
const integer = (value: Value) => sql`CAST(${value} AS INTEGER)`;

/**
 * An audit row about a token or a person, or about those of a statement. It belongs to no site: operators of one site must not see it, as
 * they have no list of tokens or people.
 */
export const auditOfGrant = (
  action: Extract<AuditAction, `token.${string}` | `person.${string}`>,
  { id, email = null, name, role, siteId, expiresAt }: GrantColumns,
) => ({
  siteId: sql`NULL`,
  action,
  subject: sql`${id}`,
  details: sql`json_object(iif(${email} IS NULL, 'name', 'email'), coalesce(${email}, ${name}), 'role', ${role},
    'site_id', ${integer(siteId)}, 'expires_at', ${integer(expiresAt)})`,
});
