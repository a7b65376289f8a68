import { and, eq, type SQL, sql } from "drizzle-orm";
import type { webhooks } from "../../../core/store/event-schema.ts";
import type { apps } from "../../../core/store/schema.ts";

/** SQL about the secrets of apps and of webhooks, whose tables have the same columns for them. */

type Owners = typeof apps | typeof webhooks;

/** A row without a previous secret. */
export const NO_PREVIOUS = { previousVersion: null, previousSecret: null, previousExpiresAt: null } as const;

/**
 * Whether a row still has the secrets that it had when it was read. Versions are random and never come again, so a late try of a
 * change that was made, or was overtaken, finds none.
 */
export const hasSecretsOf = (
  { version, previousVersion }: Owners,
  before: { version: string; previousVersion: string | null },
): SQL | undefined => and(eq(version, before.version), sql`${previousVersion} IS ${before.previousVersion}`);

/**
 * The details of a rotation for the audit log, from the rotated row.
 *
 * @param from the version before
 * @param ends what the operator said
 */
export const rotationDetails = ({ version, previousExpiresAt }: Owners, from: string, ends: string | undefined): SQL =>
  sql`json_object('version', ${version}, 'from', ${from}, 'to', ${version}, 'previous_expires_at', ${previousExpiresAt}${ends === undefined ? sql`` : sql`, 'ends', ${ends}`})`;

/** The details of an overlap's early end, from the row before it. */
export const endedDetails = ({ version, previousVersion }: Owners): SQL =>
  sql`json_object('version', ${version}, 'previous_version', ${previousVersion})`;
