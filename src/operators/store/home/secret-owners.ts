import { and, eq, isNull, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { APP_ROW, type AppRow } from "../../../core/store/apps.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { webhooks } from "../../../core/store/event-schema.ts";
import { withRetries } from "../../../core/store/run-batch.ts";
import { apps } from "../../../core/store/schema.ts";
import { type Author, auditOf, CHANGED } from "../audit.ts";

/** The tables with sealed secrets. They have the same columns for secrets, and a name that is unique on its site. */
export const OWNERS = {
  apps: { table: apps, name: apps.appid, kind: "app", mayRotate: isNull(apps.revokedAt), columns: APP_ROW },
  webhooks: {
    table: webhooks,
    name: webhooks.id,
    kind: "webhook",
    mayRotate: undefined,
    columns: { version: webhooks.version },
  },
} as const;

export type Owners = keyof typeof OWNERS;

/** The key has the site, because the name is unique only on its site. */
export type OwnerKey = { siteId: number; name: string };

/** An owner as it was read. Versions are random and never repeat. So a late try changes nothing when another change came first. */
export type KnownOwner = OwnerKey & { version: string; previousVersion: string | null };

/** The data of an owner whose overlap was ended. */
export type EndedOwner<Of extends Owners> = { apps: AppRow; webhooks: { version: string } }[Of];

/** The columns that a rotation changes. Without `previousVersion`, the previous secret stays as it is. */
export type SecretChange = { version: string; secret: string } & (
  | { previousVersion: string; previousSecret: string; previousExpiresAt: number }
  | { previousVersion: null; previousSecret: null; previousExpiresAt: null }
  | { previousVersion?: never; previousSecret?: never; previousExpiresAt?: never }
);

const isOwner = (owners: Owners, { siteId, name }: OwnerKey): SQL | undefined =>
  and(eq(OWNERS[owners].table.siteId, siteId), eq(OWNERS[owners].name, name));

/** Whether the row may be rotated, and still has the secrets that it had when it was read. */
function isUnchanged(owners: Owners, before: KnownOwner): SQL | undefined {
  const { table, mayRotate } = OWNERS[owners];
  const hasSecrets = sql`${table.previousVersion} IS ${before.previousVersion}`;
  return and(isOwner(owners, before), eq(table.version, before.version), hasSecrets, mayRotate);
}

/**
 * Stores a rotation.
 *
 * @param before   the owner when the rotation began
 * @param ends     the operator's choice, for the audit log
 * @param answerBy see {@link withRetries}
 * @returns false when it was rotated, revoked or deleted since `before` was read, or its overlap was ended
 */
export async function updateSecret(
  runtime: Runtime,
  db: D1Database,
  owners: Owners,
  before: KnownOwner,
  change: SecretChange,
  ends: string | undefined,
  author: Author,
  answerBy?: number,
): Promise<boolean> {
  const { table, name, kind } = OWNERS[owners];
  const { version, previousExpiresAt } = table;
  const audited = {
    siteId: table.siteId,
    action: `${kind}.rotated` as const,
    subject: name,
    details: sql`json_object('version', ${version}, 'from', ${before.version}, 'to', ${version}, 'previous_expires_at', ${previousExpiresAt}${ends === undefined ? sql`` : sql`, 'ends', ${ends}`})`,
  };
  const batch = () =>
    inOneBatch(db, {
      changed: drizzle(db).update(table).set(change).where(isUnchanged(owners, before)),
      audited: auditOf(db, author, audited, table, and(isOwner(owners, before), CHANGED)),
    });
  const { changed } = await withRetries(runtime, batch, answerBy);
  return changed.meta.changes === 1;
}

/**
 * Removes the previous secret. It stays when the owner was rotated or revoked since `before` was read.
 *
 * @param before   has a previous secret
 * @param answerBy see {@link withRetries}
 * @returns the owner as it is now; undefined when there is none
 */
export async function clearPrevious<Of extends Owners>(
  runtime: Runtime,
  db: D1Database,
  owners: Of,
  before: KnownOwner,
  author: Author,
  answerBy?: number,
): Promise<EndedOwner<Of> | undefined> {
  const store = drizzle(db);
  const { table, name, kind, columns } = OWNERS[owners as Owners];
  const audited = {
    siteId: table.siteId,
    action: `${kind}.overlap_ended` as const,
    subject: name,
    details: sql`json_object('version', ${table.version}, 'previous_version', ${table.previousVersion})`,
  };
  const none = { previousVersion: null, previousSecret: null, previousExpiresAt: null };
  const batch = () =>
    inOneBatch(db, {
      // The audit comes before the change, because it needs the row's old values.
      audited: auditOf(db, author, audited, table, isUnchanged(owners, before)),
      changed: store.update(table).set(none).where(isUnchanged(owners, before)),
      now: store.select(columns).from(table).where(isOwner(owners, before)),
    });
  const { now } = await withRetries(runtime, batch, answerBy);
  return now[0] as EndedOwner<Of> | undefined;
}
