import * as z from "zod/mini";
import { type SecretOwner, seal } from "../../core/credentials/sealed-secret.ts";
import { invalidInput, ServiceError } from "../../core/errors.ts";
import { text } from "../../core/fields.ts";
import type { Runtime } from "../../core/runtime.ts";
import {
  clearPrevious,
  type EndedOwner,
  type Owners,
  type SecretChange,
  updateSecret,
} from "../store/home/secret-owners.ts";
import { newVersion, openSecret } from "./secrets.ts";
import { authorOf, keyringOf, type ServiceContext } from "./service-context.ts";

/** This file rotates the secret of an app or of a webhook, and ends an overlap. */

const WEEK_SECONDS = 604_800;
const OVERLAP_RULE = `must be an integer from 0 to ${WEEK_SECONDS}`;

/** Which secret a rotation ends while an overlap runs: the previous one, or the one in use. */
export const ENDED_SECRETS = ["previous", "current"] as const;
export type EndedSecret = (typeof ENDED_SECRETS)[number];

const expectedVersion = z.optional(text(1, 100));

/** Body of POST …/rotate. */
export const rotationSchema = z.strictObject({
  overlap_seconds: z._default(
    z.int(OVERLAP_RULE).check(z.minimum(0, OVERLAP_RULE), z.maximum(WEEK_SECONDS, OVERLAP_RULE)),
    86_400,
  ),
  expected_version: expectedVersion,
  ends: z.optional(z.enum(ENDED_SECRETS, 'must be "previous" or "current"')),
});

/** Body of POST …/end-overlap. */
export const endOverlapSchema = z.strictObject({ expected_version: expectedVersion });

/** The operator's choices for a rotation. */
export interface RotationInput {
  /** How long the secret in use stays valid. With 0, the row holds no old secret. */
  overlapSeconds: number;
  /** Rotates only if this is still the version, so that a call sent twice rotates once. */
  expectedVersion?: string | undefined;
  /** Needed while an overlap runs. */
  ends?: EndedSecret | undefined;
}

/** The secrets of an app or a webhook as stored. */
interface StoredSecrets {
  siteId: number;
  version: string;
  secret: string;
  previousVersion: string | null;
  previousExpiresAt: number | null;
}

/** The app or the webhook whose secret is changed. */
export interface SecretOwnerOf<Of extends Owners, Stored extends StoredSecrets> {
  owners: Of;
  /** The appid or the webhook's id. */
  name: string;
  /** @throws ServiceError when the app or webhook does not exist, or may get no other secret */
  read: () => Promise<Stored>;
  db: (stored: Stored) => D1Database;
  /** What its secrets are sealed for, without the version. */
  sealPlaceOf: (stored: Stored) => { siteId: number } & ({ appid: string } | { webhookId: string });
  newSecret: (runtime: Runtime) => string;
  /** Called after a change, with the owner as it is stored now. */
  changed: (now: Stored) => void;
  /** @throws ServiceError when an overlap was not ended, because the owner no longer exists, or may not be changed */
  ended: (now: EndedOwner<Of> | undefined) => EndedOwner<Of>;
}

/** The new secret, which no later answer shows. */
export interface RotationResult {
  secret: string;
  version: string;
  /** Unix seconds; null when no old secret is valid. */
  previousExpiresAt: number | null;
}

const TRIES = 3;

/**
 * Gives an app or a webhook a new secret. The secret in use stays valid until the overlap ends. While an overlap runs, `ends` says which of
 * the two secrets ends.
 *
 * @throws ServiceError `invalid_input`; `not_found`; `conflict`, reason `app_revoked`, `version_other` (rotated by another call, or by an
 *   earlier copy of this one), `overlap_running`, `overlap_over` or `rotation_busy` (other calls keep rotating it); `internal` when
 *   MASTER_KEY does not open the current secret
 */
export async function rotateOwnerSecret<Of extends Owners, Stored extends StoredSecrets>(
  ctx: ServiceContext,
  owner: SecretOwnerOf<Of, Stored>,
  input: RotationInput,
): Promise<RotationResult> {
  requireSense(input);
  let ownRotation: { change: SecretChange; secret: string } | undefined;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const storedSecrets = await owner.read();
    // The previous try stored this secret, and D1's answer was lost. Another rotation would end the secret that is in use.
    if (ownRotation !== undefined && storedSecrets.version === ownRotation.change.version)
      return rotationAnswer(owner, storedSecrets, ownRotation.secret);
    const secret = owner.newSecret(ctx.runtime);
    const change = await nextSecret(ctx, owner.sealPlaceOf(storedSecrets), storedSecrets, input, secret);
    ownRotation = { change, secret };
    const db = owner.db(storedSecrets);
    const before = { ...storedSecrets, name: owner.name };
    if (await updateSecret(ctx.runtime, db, owner.owners, before, change, input.ends, authorOf(ctx), ctx.answerBy)) {
      return rotationAnswer(owner, { ...storedSecrets, ...change }, secret);
    }
  }
  throw input.expectedVersion === undefined ? rotationBusy() : otherVersion();
}

function rotationAnswer<Of extends Owners, Stored extends StoredSecrets>(
  owner: SecretOwnerOf<Of, Stored>,
  now: Stored,
  secret: string,
): RotationResult {
  owner.changed(now);
  return { secret, version: now.version, previousExpiresAt: now.previousExpiresAt };
}

/**
 * Ends the previous secret of an app or a webhook, without making another. Does nothing when there is none.
 *
 * @param input with `expectedVersion`, the secret ends only while this is the version
 * @returns the version of the secret in use
 * @throws ServiceError `not_found`; `conflict`, reason `app_revoked`, or `version_other`, also when it is rotated meanwhile
 */
export async function endOverlapOf<Of extends Owners, Stored extends StoredSecrets>(
  ctx: ServiceContext,
  owner: SecretOwnerOf<Of, Stored>,
  input: { expectedVersion?: string | undefined },
): Promise<{ version: string }> {
  const storedSecrets = await owner.read();
  requireVersion(storedSecrets, input);
  const { version } = storedSecrets;
  // The caches do not change: the next request must not be slower after a call that changes nothing.
  if (storedSecrets.previousVersion === null) return { version };
  const before = { ...storedSecrets, name: owner.name };
  const db = owner.db(storedSecrets);
  const now = owner.ended(await clearPrevious(ctx.runtime, db, owner.owners, before, authorOf(ctx), ctx.answerBy));
  // The overlap of a newer rotation stays: the operator who made that rotation needs it.
  if (now.version !== version) throw rotatedMeanwhile();
  owner.changed({ ...storedSecrets, ...now });
  return { version };
}

/**
 * A secret in clear text, for the operator who just made it.
 *
 * @param version of the wanted secret: a newer secret, made by another operator, is not shown
 * @throws ServiceError `conflict`, reason `version_other`; `internal` when MASTER_KEY does not open it
 */
export function readSecretOf(
  ctx: ServiceContext,
  owner: { siteId: number } & ({ appid: string } | { webhookId: string }),
  storedSecrets: Pick<StoredSecrets, "version" | "secret">,
  version: string,
): Promise<string> {
  if (storedSecrets.version !== version) throw new ServiceError("conflict", { reason: "version_other" });
  return openSecret(ctx, { ...owner, version }, "current", storedSecrets.secret);
}

/** The old secret that a rotation stores as the previous one. */
type KeptSecret = "in use" | "previous" | "none";

/** @throws ServiceError `conflict`, reason `overlap_running` or `overlap_over`, when `ends` does not fit the overlap */
function keptBy({ overlapSeconds, ends }: RotationInput, previousExpiresAt: number | null, now: number): KeptSecret {
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
async function nextSecret(
  ctx: ServiceContext,
  owner: { siteId: number } & ({ appid: string } | { webhookId: string }),
  storedSecrets: StoredSecrets,
  input: RotationInput,
  newSecret: string,
): Promise<SecretChange> {
  requireVersion(storedSecrets, input);
  const keptSecret = keptBy(input, storedSecrets.previousExpiresAt, ctx.now);
  const keyring = await keyringOf(ctx);
  const version = newVersion(ctx.runtime);
  const ownerOfVersion = (secretVersion: string): SecretOwner => ({ ...owner, version: secretVersion });
  // The secret is opened even when it is not stored again: a wrong MASTER_KEY must not seal a secret that no other isolate opens.
  const current = await openSecret(ctx, ownerOfVersion(storedSecrets.version), "current", storedSecrets.secret);
  const next = { version, secret: await seal(ctx.runtime, keyring, ownerOfVersion(version), "current", newSecret) };
  if (keptSecret === "previous") return next;
  if (keptSecret === "none") return { ...next, previousVersion: null, previousSecret: null, previousExpiresAt: null };
  return {
    ...next,
    previousVersion: storedSecrets.version,
    // The secret is sealed again because a seal is bound to its slot: in another slot it does not open. Its version stays.
    previousSecret: await seal(ctx.runtime, keyring, ownerOfVersion(storedSecrets.version), "previous", current),
    previousExpiresAt: ctx.now + input.overlapSeconds,
  };
}

/** @throws ServiceError `invalid_input` for a rotation that ends every old secret and asks for an overlap */
function requireSense({ overlapSeconds, ends }: RotationInput): void {
  if (overlapSeconds > 0 || ends !== "current") return;
  const message = 'must not be "current" with overlap_seconds 0, which ends the previous secret too';
  throw invalidInput([{ field: "ends", message }]);
}

/** @throws ServiceError `conflict`, reason `version_other` */
function requireVersion(
  { version }: { version: string },
  { expectedVersion }: { expectedVersion?: string | undefined },
): void {
  if (expectedVersion !== undefined && version !== expectedVersion) throw otherVersion();
}

const otherVersion = () =>
  new ServiceError("conflict", {
    reason: "version_other",
    detail:
      "expected_version: it has another version by now, by a rotation of others or by this very call, sent before.",
  });

/** The refusal when an overlap was to be ended, and a rotation came at the same time. */
const rotatedMeanwhile = () =>
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

const rotationBusy = () =>
  new ServiceError("conflict", { reason: "rotation_busy", detail: "Others keep rotating this secret: try again." });
