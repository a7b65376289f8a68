import * as z from "zod/mini";
import { seal, unseal } from "../credentials/sealed-secret.ts";
import { text } from "../fields.ts";
import { findApp, replaceSecret } from "../store/directory/apps.ts";
import type { AppDesk } from "./app-desk.ts";
import { newSecret, newVersion } from "./issue-app.ts";

const WEEK_SECONDS = 604_800;
const OVERLAP_RULE = `must be an integer from 0 to ${WEEK_SECONDS}`;

/** Body of POST /admin/apps/:appid/rotate. */
export const rotateSecretSchema = z.strictObject({
  overlap_seconds: z._default(
    z.int(OVERLAP_RULE).check(z.minimum(0, OVERLAP_RULE), z.maximum(WEEK_SECONDS, OVERLAP_RULE)),
    86_400,
  ),
  expected_version: z.optional(text(1, 100)),
});

export type Rotated = { appid: string; secret: string; version: string; previous_expires_at: number };

/**
 * Gives an app a new secret; the one before it verifies until the overlap ends, any older one no more.
 *
 * @param expectedVersion rotates only an app that is still at it, and is `busy` otherwise: a call that is sent twice rotates once
 * @returns the new secret, for the only time; `missing` for an unknown app, `revoked` for a revoked one, `busy` when others did or keep rotating it
 * @throws UnsealError when MASTER_KEY does not open the secret in place
 */
export async function rotateSecret(
  desk: AppDesk,
  appid: string,
  overlapSeconds: number,
  expectedVersion?: string,
): Promise<Rotated | "missing" | "revoked" | "busy"> {
  const keyring = await desk.keyring();
  let mine: { sealed: string; rotated: Rotated } | undefined;
  for (let attempt = 0; attempt < 3; attempt++) {
    const app = await findApp(desk.runtime, desk.db, appid);
    if (app === null) return "missing";
    if (app.revokedAt !== null) return "revoked";
    // Written by the try before, whose answer was lost. Rotating once more would end the secret that is in use.
    if (mine !== undefined && app.secret === mine.sealed) {
      desk.forget(appid);
      return mine.rotated;
    }
    if (expectedVersion !== undefined && app.version !== expectedVersion) return "busy";
    const secret = newSecret(desk.runtime);
    const current = await unseal(keyring, app, "current", app.secret);
    const previousExpiresAt = desk.by.now + overlapSeconds;
    const version = newVersion(desk.runtime);
    const next = {
      appid,
      version,
      secret: await seal(desk.runtime, keyring, { ...app, version }, "current", secret),
      previousVersion: app.version,
      // Sealed anew, because the slot is part of what the seal vouches for; the version stays this secret's own.
      previousSecret: await seal(desk.runtime, keyring, app, "previous", current),
      previousExpiresAt,
    };
    mine = { sealed: next.secret, rotated: { appid, secret, version, previous_expires_at: previousExpiresAt } };
    if (!(await replaceSecret(desk.runtime, desk.db, next, desk.by))) continue;
    desk.forget(appid);
    return mine.rotated;
  }
  return "busy";
}
