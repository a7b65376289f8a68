import type { Child } from "hono/jsx";
import type { RotationInput } from "../../services/rotation.ts";
import type { Filled } from "../forms/messages.ts";
import type { FramedSite } from "../parts/site-frame.tsx";

/** When a secret was last used, in sentences. */
export interface SecretUse {
  used: string;
  /** How far that is known; empty when nothing is. */
  counted: string;
}

/** An app or a webhook, for the pages of its secret. */
export interface ShownSecretOwner {
  site: FramedSite;
  /** The path of its page. */
  path: string;
  version: string;
  previousExpiresAt: number | null;
  /** False for a revoked app. */
  isActive: boolean;
  /** Terms and details about it. */
  facts: Child;
  words: {
    /** Title of the page after it was made. */
    made: string;
    /** What its secret is for. */
    use: Child;
    /** What happens to a program that still uses an ended secret. */
    stopped: string;
  };
  read: () => Promise<string>;
  /** @throws ServiceError `conflict`, reason `app_revoked`, `overlap_over`, or `version_other` when it has another version by now */
  rotate: (input: RotationInput) => Promise<{ version: string }>;
  /** @throws ServiceError `conflict`, reason `app_revoked`, or `version_other` when it has another version by now */
  endOverlap: (expectedVersion: string) => Promise<unknown>;
  /** Says when the previous secret was last used. Undefined for webhooks: their receivers use it, and nobody counts that. */
  previousUse?: () => Promise<SecretUse>;
  /** What to do with a new secret, beneath it. */
  next?: () => Promise<Child>;
  /** Shows its page, with the form of a rotation filled in again. */
  page: (again: Filled) => Promise<Response>;
}
