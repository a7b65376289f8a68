import type { Child } from "hono/jsx";
import { isRefusedFor } from "../../../core/errors.ts";
import type { RotationInput } from "../../services/rotation.ts";
import type { PageContext } from "../env.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { ticketFor } from "../forms/tickets.ts";
import type { FactRows } from "../parts/parts.tsx";
import type { FramedSite } from "../parts/site-frame.tsx";

/** An app or a webhook, as the pages of its secret need it. */
export interface ShownSecretOwner {
  site: FramedSite;
  path: string;
  version: string;
  previousExpiresAt: number | null;
  /** False for a revoked app. */
  isActive: boolean;
  /** What says which owner it is. */
  facts: FactRows;
  words: {
    /** The title of the page after the owner was made. */
    made: string;
    /** What its secret is used for. */
    use: Child;
    /** What happens to a program that still uses an ended secret. */
    stopped: string;
  };
  read: () => Promise<string>;
  /** @throws ServiceError `conflict`, reason `app_revoked`, `overlap_over`, or `version_other` when the secret was rotated meanwhile */
  rotate: (input: RotationInput) => Promise<{ version: string }>;
  /** @throws ServiceError `conflict`, reason `app_revoked`, or `version_other` when the secret was rotated meanwhile */
  endOverlap: (expectedVersion: string) => Promise<unknown>;
  /** Says when the previous secret was last used. Undefined for webhooks, whose receivers use the secret without telling us. */
  previousUse?: () => Promise<Child>;
  /** The next step with a new secret. It is shown below the secret. */
  next?: () => Promise<Child>;
  /** Shows the owner's page again, with the filled-in form of a rotation. */
  page: (filledForm: FilledForm) => Promise<Response>;
}

/** Whether the previous secret is still valid. */
export const hasOverlap = ({ previousExpiresAt }: { previousExpiresAt: number | null }, now: number): boolean =>
  (previousExpiresAt ?? 0) > now;

/**
 * The address of the page that shows a new secret. Only this console session can open it, for ten minutes.
 *
 * @param path  path of the owner's page
 * @param isNew whether the owner was made with this secret, and the secret was not rotated
 */
export async function secretLocation(c: PageContext, path: string, version: string, isNew = false): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const ticket = await ticketFor(session, secretPurpose(path, version), now);
  return `${path}/secret?ticket=${ticket}${isNew ? "&new=1" : ""}`;
}

/** What a ticket of that page is for. Without the version it would also show a newer secret that another operator made. */
export const secretPurpose = (path: string, version: string): string[] => ["secret", path, version];

/** The first facts of a question that ends the previous secret: its owner, and when it was last used. @param otherwise what holds without the change */
export async function endingFacts(
  { var: { view } }: PageContext,
  owner: ShownSecretOwner,
  otherwise: string,
): Promise<FactRows> {
  const { t } = view;
  const use = await owner.previousUse?.();
  const stops = (
    <>
      <strong>{t("Stops at once.")}</strong> {otherwise}
    </>
  );
  return [...owner.facts, [t("The old secret"), stops], use !== undefined && [t("Last use of the old secret"), use]];
}

/** The page after a refusal. @throws the error, when it is not one of these refusals */
export function refusedLocation(c: PageContext, path: string, error: unknown): Promise<string> {
  if (isRefusedFor(error, "app_revoked")) return doneLocation(c, path, "revoked_before");
  if (isRefusedFor(error, "version_other")) return doneLocation(c, path, "rotated_before");
  if (isRefusedFor(error, "overlap_over")) return doneLocation(c, path, "overlap_over");
  throw error;
}
