import { homeDatabase } from "../../core/config.ts";
import { type AppRecord, findApp } from "../../core/credentials/find-app.ts";
import { ServiceError } from "../../core/errors.ts";
import { selectApp } from "../../core/store/apps.ts";
import type { Site } from "../store/directory/sites.ts";
import { clearPrevious, updateSecret } from "../store/home/apps.ts";
import { appRevoked, appUnknown } from "./refusals.ts";
import {
  nextSecret,
  otherVersion,
  type RotationInput,
  requireSense,
  requireVersion,
  rotatedMeanwhile,
  rotationBusy,
  type SecretChange,
} from "./rotation.ts";
import { newSecret, openSecret } from "./secrets.ts";
import { authorOf, homeOf, publishApp, type ServiceContext, sees } from "./service-context.ts";

const TRIES = 3;

/** The new secret, which no later answer shows. */
export interface RotatedSecret {
  appid: string;
  secret: string;
  version: string;
  /** Unix seconds; null when no old secret is valid. */
  previousExpiresAt: number | null;
}

/**
 * Gives an app a new secret. The one in use stays valid until the overlap ends. While an overlap runs, `ends` says which of the two
 * secrets ends.
 *
 * @throws ServiceError `invalid_input`; `not_found`; `conflict`, reason `app_revoked`, `version_other` (rotated by another call, or by
 *   an earlier copy of this one), `overlap_running`, `overlap_over` or `rotation_busy` (other calls keep rotating it); `internal` when
 *   MASTER_KEY does not open the current secret
 */
export async function rotateSecret(
  ctx: ServiceContext,
  { appid, ...input }: RotationInput & { appid: string },
): Promise<RotatedSecret> {
  requireSense(input);
  let mine: { change: SecretChange; secret: string } | undefined;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const app = await activeApp(ctx, appid);
    // The previous try stored this secret, and D1's answer was lost. Another rotation would end the secret that is in use.
    if (mine !== undefined && app.version === mine.change.version) return answer(ctx, app, mine.secret);
    const secret = newSecret(ctx.runtime);
    const change = await nextSecret(ctx, { siteId: app.siteId, appid }, app, input, secret);
    mine = { change, secret };
    const db = homeDatabase(ctx.config, app.home);
    const isStored = await updateSecret(ctx.runtime, db, app, change, input.ends, authorOf(ctx), ctx.answerBy);
    if (isStored) return answer(ctx, { ...app, ...change }, secret);
  }
  throw input.expectedVersion === undefined ? rotationBusy() : otherVersion();
}

/** @throws ServiceError `not_found`; `conflict`, reason `app_revoked` */
async function activeApp(ctx: ServiceContext, appid: string): Promise<AppRecord> {
  const app = await findApp(ctx.runtime, ctx.config, appid);
  if (app === null || !sees(ctx, app.siteId)) throw appUnknown();
  if (app.revokedAt !== null) throw appRevoked();
  return app;
}

function answer(ctx: ServiceContext, app: AppRecord, secret: string): RotatedSecret {
  publishApp(ctx, app);
  const { appid, version, previousExpiresAt } = app;
  return { appid, secret, version, previousExpiresAt };
}

/**
 * Ends the previous secret of an app, without making another. Does nothing when there is none.
 *
 * @param input with `expectedVersion`, only while this is the version
 * @returns the version of the secret in use
 * @throws ServiceError `not_found`; `conflict`, reason `app_revoked`, or `version_other`, also when the app is rotated meanwhile
 */
export async function endOverlap(
  ctx: ServiceContext,
  { appid, ...input }: { appid: string; expectedVersion?: string | undefined },
): Promise<{ version: string }> {
  const app = await activeApp(ctx, appid);
  requireVersion(app, input);
  const { home, version } = app;
  // The caches stay as they are: the next request must not pay for a call that changes nothing.
  if (app.previousVersion === null) return { version };
  const db = homeDatabase(ctx.config, home);
  const now = await clearPrevious(ctx.runtime, db, app, authorOf(ctx), ctx.answerBy);
  if (now === undefined) throw appUnknown();
  if (now.revokedAt !== null) throw appRevoked();
  // The overlap of a newer rotation stays: the operator who made it counts on it.
  if (now.version !== version) throw rotatedMeanwhile();
  publishApp(ctx, { ...now, home });
  return { version };
}

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
