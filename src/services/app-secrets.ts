import * as z from "zod/mini";
import { homeDatabase } from "../config.ts";
import { type AppRecord, findApp } from "../credentials/find-app.ts";
import { seal } from "../credentials/sealed-secret.ts";
import { ServiceError } from "../errors.ts";
import { text } from "../fields.ts";
import type { Site } from "../store/directory/sites.ts";
import { selectApp, updateSecret } from "../store/home/apps.ts";
import { appRevoked, appUnknown } from "./refusals.ts";
import { newSecret, newVersion, openSecret } from "./secrets.ts";
import { authorOf, homeOf, keyringOf, publishApp, type ServiceContext } from "./service-context.ts";

const WEEK_SECONDS = 604_800;
const OVERLAP_RULE = `must be an integer from 0 to ${WEEK_SECONDS}`;
const TRIES = 3;

/** How long a previous secret stays valid. */
export const overlapSeconds = z._default(
  z.int(OVERLAP_RULE).check(z.minimum(0, OVERLAP_RULE), z.maximum(WEEK_SECONDS, OVERLAP_RULE)),
  86_400,
);

/** Body of POST /admin/apps/:appid/rotate. */
export const rotateSecretSchema = z.strictObject({
  overlap_seconds: overlapSeconds,
  expected_version: z.optional(text(1, 100)),
});

interface RotateSecret {
  appid: string;
  /** How long the previous secret stays valid. */
  overlapSeconds: number;
  /** Rotates only if the app still has this version, so that a call sent twice rotates once. */
  expectedVersion?: string | undefined;
}

/** The new secret, which no later answer shows. */
export interface RotatedSecret {
  appid: string;
  secret: string;
  version: string;
  /** Unix seconds. */
  previousExpiresAt: number;
}

/**
 * Gives an app a new secret. The previous one stays valid until the overlap ends; older ones end at once.
 *
 * @throws ServiceError `not_found`; `conflict`, reason `app_revoked`, `version_other` (rotated by another
 *   call, or by an earlier copy of this one) or `rotation_busy` (other calls keep rotating it); `internal` when MASTER_KEY does not
 *   open the current secret
 */
export async function rotateSecret(ctx: ServiceContext, input: RotateSecret): Promise<RotatedSecret> {
  const { appid, expectedVersion } = input;
  let mine: Rotation | undefined;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const app = await findApp(ctx.runtime, ctx.config, appid);
    if (app === null) throw appUnknown();
    if (app.revokedAt !== null) throw appRevoked();
    // The previous try stored this secret, and D1's answer was lost. Another rotation would end the secret that is in use.
    if (mine !== undefined && app.secret === mine.row.secret) return answer(ctx, app, mine);
    if (expectedVersion !== undefined && app.version !== expectedVersion) throw otherVersion();
    mine = await nextRotation(ctx, app, input.overlapSeconds);
    const db = homeDatabase(ctx.config, app.home);
    if (await updateSecret(ctx.runtime, db, mine.row, authorOf(ctx), ctx.answerBy)) return answer(ctx, app, mine);
  }
  throw expectedVersion === undefined ? busy() : otherVersion();
}

interface Rotation {
  row: Parameters<typeof updateSecret>[2];
  rotated: RotatedSecret;
}

async function nextRotation(ctx: ServiceContext, app: AppRecord, overlapSeconds: number): Promise<Rotation> {
  const keyring = await keyringOf(ctx);
  const secret = newSecret(ctx.runtime);
  const version = newVersion(ctx.runtime);
  const current = await openSecret(ctx, app, "current", app.secret);
  const { siteId, appid } = app;
  const previousExpiresAt = ctx.now + overlapSeconds;
  const row = {
    siteId,
    appid,
    version,
    secret: await seal(ctx.runtime, keyring, { ...app, version }, "current", secret),
    previousVersion: app.version,
    // The secret is sealed again because a seal is bound to its slot: in another slot it does not open. Its version stays.
    previousSecret: await seal(ctx.runtime, keyring, app, "previous", current),
    previousExpiresAt,
  };
  return { row, rotated: { appid, secret, version, previousExpiresAt } };
}

function answer(ctx: ServiceContext, app: AppRecord, { row, rotated }: Rotation): RotatedSecret {
  publishApp(ctx, { ...app, ...row });
  return rotated;
}

const otherVersion = () =>
  new ServiceError("conflict", {
    reason: "version_other",
    detail:
      "expected_version: the app has another version by now, by a rotation of others or by this very call, sent before.",
  });

const busy = () =>
  new ServiceError("conflict", {
    reason: "rotation_busy",
    detail: "The app is being rotated by others; try again.",
  });

/**
 * The secret of an app in clear text, for the operator who just issued or rotated it.
 *
 * @param input `version` of the wanted secret: a newer secret, made by another operator, is not shown
 * @throws ServiceError `not_found`; `conflict`, reason `app_revoked` or `version_other`; `internal` when MASTER_KEY does not open it
 */
export async function readSecret(
  ctx: ServiceContext,
  { site, appid, version }: { site: Site; appid: string; version: string },
): Promise<string> {
  const app = await selectApp(ctx.runtime, homeOf(ctx, site), { siteId: site.id, appid });
  if (app === undefined) throw appUnknown();
  if (app.revokedAt !== null) throw appRevoked();
  if (app.version !== version) throw new ServiceError("conflict", { reason: "version_other" });
  return openSecret(ctx, app, "current", app.secret);
}
