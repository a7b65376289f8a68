import { type SecretOwner, seal, UnsealError } from "../../core/credentials/sealed-secret.ts";
import { ServiceError } from "../../core/errors.ts";
import { databaseFault, withRetries } from "../../core/store/run-batch.ts";
import { selectCanary } from "../store/directory/customer-hash-keys.ts";
import { customerHasher, firstOpened } from "./customer-hash.ts";
import { haveOtherSeals } from "./other-seals.ts";
import { masterKeyWrong } from "./refusals.ts";
import { type KeyringTools, keyringOf, type ServiceContext } from "./service-context.ts";

/**
 * This file checks whether the master keys open what is sealed. The key of the customers' hashes is the canary: it is in the directory, and
 * is sealed and re-sealed like every secret.
 */

/** `off`: the cron has made no canary yet, and no app is known to be sealed with another key. */
export type MasterKeyState = "ok" | "off" | "down";

/**
 * Opens the canary. Until the cron has made it, the homes are asked whether their apps are sealed with a known key.
 *
 * @param answerBy by the runtime's `elapsed`: a home that has not answered then does not count
 * @throws any error of the directory
 */
export async function masterKeyState(
  ctx: Pick<KeyringTools, "runtime" | "config" | "credentials">,
  answerBy: number,
  canary: ReturnType<typeof selectCanary> = selectCanary(ctx.config.directory),
): Promise<MasterKeyState> {
  const { keys, hasApps } = await canary;
  if ((await firstOpened(await keyringOf(ctx), keys)) !== undefined) return "ok";
  if (keys.length > 0) return "down";
  return hasApps && (await haveOtherSeals(ctx, answerBy)) === true ? "down" : "off";
}

/**
 * Seals the secret of a new app or webhook. Nothing sealed before is opened for it, so the canary shows whether another isolate will
 * open it.
 *
 * @throws ServiceError `internal` when the master keys do not open what is sealed; `unavailable` when the directory does not answer
 */
export async function sealNewSecret(
  ctx: ServiceContext,
  owner: SecretOwner,
  secret: string,
  answerBy = ctx.answerBy,
): Promise<string> {
  const canary = withRetries(ctx.runtime, () => selectCanary(ctx.config.directory), answerBy);
  if ((await masterKeyState(ctx, answerBy, canary)) === "down")
    throw masterKeyWrong(new UnsealError("no master key opens what is sealed here"));
  return seal(ctx.runtime, await keyringOf(ctx), owner, "current", secret);
}

/**
 * Makes the canary when there are apps and all of them open, or gets it back from KV. Only the cron calls this, so no visitor can cause it.
 *
 * @returns false when the master keys do not open what is sealed
 */
export async function keepCanary(ctx: KeyringTools): Promise<boolean> {
  try {
    const { credentials, directory } = ctx.config;
    const { keys, hasApps } = await selectCanary(directory);
    if (keys.length === 0 && !hasApps) return true;
    const opened = await firstOpened(await keyringOf(ctx), keys);
    if (opened !== undefined && (opened.row.keptAt !== null || credentials === undefined)) return true;
    if (opened === undefined) {
      const hasOtherSeals = await haveOtherSeals(ctx, ctx.answerBy);
      // While a home is silent, it is not known whether all apps open. But a canary that does not open shows a wrong key.
      if (hasOtherSeals !== false) return hasOtherSeals === undefined && keys.length === 0;
    }
    await customerHasher(ctx);
    return true;
  } catch (error) {
    // The directory is closed, or a database or KV does not answer: the next run makes the canary.
    const fault = error instanceof ServiceError ? error : databaseFault(error);
    if (fault?.code !== "unavailable") throw error;
    return fault.context.reason !== "hash_key_unopened";
  }
}
