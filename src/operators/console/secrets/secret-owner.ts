import type { Child } from "hono/jsx";
import type { RotationInput } from "../../services/rotation.ts";
import type { FilledForm } from "../forms/messages.ts";
import type { FramedSite } from "../parts/site-frame.tsx";

/** When a secret was last used, in sentences. */
export interface SecretUse {
  used: string;
  /** The time up to which uses are counted; empty when nothing is known. */
  counted: string;
}

/** An app or a webhook, as the pages of its secret need it. */
export interface ShownSecretOwner {
  site: FramedSite;
  path: string;
  version: string;
  previousExpiresAt: number | null;
  /** False for a revoked app. */
  isActive: boolean;
  /** Terms and details about the owner. */
  facts: Child;
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
  previousUse?: () => Promise<SecretUse>;
  /** The next step with a new secret. It is shown below the secret. */
  next?: () => Promise<Child>;
  /** Shows the owner's page again, with the filled-in form of a rotation. */
  page: (filledForm: FilledForm) => Promise<Response>;
}
