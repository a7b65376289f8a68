import * as z from "zod/mini";
import { type SecretOwner, seal } from "../../core/credentials/sealed-secret.ts";
import { invalidInput, ServiceError } from "../../core/errors.ts";
import { text } from "../../core/fields.ts";
import { newVersion, openSecret } from "./secrets.ts";
import { keyringOf, type ServiceContext } from "./service-context.ts";

/** The rules of a rotation, the same for the secrets of apps and of webhooks. */

const WEEK_SECONDS = 604_800;
const OVERLAP_RULE = `must be an integer from 0 to ${WEEK_SECONDS}`;

/** Which secret a rotation ends while an overlap runs: the previous one, or the one in use. */
export const ENDS = ["previous", "current"] as const;
export type Ends = (typeof ENDS)[number];

const expectedVersion = z.optional(text(1, 100));

/** Body of POST …/rotate. */
export const rotationSchema = z.strictObject({
  overlap_seconds: z._default(
    z.int(OVERLAP_RULE).check(z.minimum(0, OVERLAP_RULE), z.maximum(WEEK_SECONDS, OVERLAP_RULE)),
    86_400,
  ),
  expected_version: expectedVersion,
  ends: z.optional(z.enum(ENDS, 'must be "previous" or "current"')),
});

/** Body of POST …/end-overlap. */
export const endOverlapSchema = z.strictObject({ expected_version: expectedVersion });

/** What an operator asks of a rotation. */
export interface RotationInput {
  /** How long the secret in use stays valid. With 0, no old secret stays, not even in the row. */
  overlapSeconds: number;
  /** Rotates only if this is still the version, so that a call sent twice rotates once. */
  expectedVersion?: string | undefined;
  /** Needed while an overlap runs. */
  ends?: Ends | undefined;
}

/** The secrets of an app or a webhook as stored. */
export interface StoredSecrets {
  version: string;
  secret: string;
  previousVersion: string | null;
  previousExpiresAt: number | null;
}

/** The columns that a rotation changes. Without `previousVersion`, the previous secret stays as it is. */
export type SecretChange = { version: string; secret: string } & (
  | { previousVersion: string; previousSecret: string; previousExpiresAt: number }
  | { previousVersion: null; previousSecret: null; previousExpiresAt: null }
  | { previousVersion?: never; previousSecret?: never; previousExpiresAt?: never }
);

/** The old secret that a rotation keeps as the previous one. */
type Kept = "in use" | "previous" | "none";

/** @throws ServiceError `conflict`, reason `overlap_running` or `overlap_over`, when `ends` does not fit the overlap */
function keptBy({ overlapSeconds, ends }: RotationInput, previousExpiresAt: number | null, now: number): Kept {
  if (overlapSeconds === 0) return "none";
  const isRunning = (previousExpiresAt ?? 0) > now;
  if (ends === "current") {
    // Without an overlap, the secret in use is the only one that callers have.
    if (!isRunning) throw overlapOver();
    return "previous";
  }
  if (isRunning && ends === undefined) throw overlapRunning(previousExpiresAt);
  return "in use";
}

/**
 * Makes the next secret of an app or a webhook, and the columns that store it.
 *
 * @param owner     without the version
 * @param newSecret the new secret in clear text
 * @throws ServiceError `conflict`, reason `version_other`, `overlap_running` or `overlap_over`; `internal` when MASTER_KEY does not
 *   open the current secret
 */
export async function nextSecret(
  ctx: ServiceContext,
  owner: { siteId: number } & ({ appid: string } | { webhookId: string }),
  stored: StoredSecrets,
  input: RotationInput,
  newSecret: string,
): Promise<SecretChange> {
  requireVersion(stored, input);
  const kept = keptBy(input, stored.previousExpiresAt, ctx.now);
  const keyring = await keyringOf(ctx);
  const version = newVersion(ctx.runtime);
  const own = (ofVersion: string): SecretOwner => ({ ...owner, version: ofVersion });
  // Opened also when it is not kept: a wrong MASTER_KEY must not seal a secret that no other isolate opens.
  const current = await openSecret(ctx, own(stored.version), "current", stored.secret);
  const next = { version, secret: await seal(ctx.runtime, keyring, own(version), "current", newSecret) };
  if (kept === "previous") return next;
  if (kept === "none") return { ...next, previousVersion: null, previousSecret: null, previousExpiresAt: null };
  return {
    ...next,
    previousVersion: stored.version,
    // The secret is sealed again because a seal is bound to its slot: in another slot it does not open. Its version stays.
    previousSecret: await seal(ctx.runtime, keyring, own(stored.version), "previous", current),
    previousExpiresAt: ctx.now + input.overlapSeconds,
  };
}

/** @throws ServiceError `invalid_input` for a rotation that ends every old secret and would keep one */
export function requireSense({ overlapSeconds, ends }: RotationInput): void {
  if (overlapSeconds > 0 || ends !== "current") return;
  const message = 'must not be "current" with overlap_seconds 0, which ends the previous secret too';
  throw invalidInput([{ field: "ends", message }]);
}

/** @throws ServiceError `conflict`, reason `version_other` */
export function requireVersion(
  { version }: { version: string },
  { expectedVersion }: { expectedVersion?: string | undefined },
): void {
  if (expectedVersion !== undefined && version !== expectedVersion) throw otherVersion();
}

export const otherVersion = () =>
  new ServiceError("conflict", {
    reason: "version_other",
    detail:
      "expected_version: it has another version by now, by a rotation of others or by this very call, sent before.",
  });

/** The refusal of an overlap's end that crossed a rotation. */
export const rotatedMeanwhile = () =>
  new ServiceError("conflict", {
    reason: "version_other",
    detail: "It was rotated at this moment, and the overlap of that rotation runs on: look at its version.",
  });

const overlapRunning = (until: number | null) =>
  new ServiceError("conflict", {
    reason: "overlap_running",
    detail: `An overlap runs until ${until}, so this rotation would end a secret that is in use: say which one with "ends", "previous" or "current". Nothing was changed.`,
  });

const overlapOver = () =>
  new ServiceError("conflict", {
    reason: "overlap_over",
    detail:
      'No overlap runs, so "ends":"current" would end the only secret that is in use: leave "ends" out, or send "overlap_seconds":0. Nothing was changed.',
  });

export const rotationBusy = () =>
  new ServiceError("conflict", { reason: "rotation_busy", detail: "Others keep rotating this secret: try again." });
