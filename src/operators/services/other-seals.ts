import { sealMarks } from "../../core/credentials/sealed-secret.ts";
import { hasOtherSeal } from "../store/home/seals.ts";
import { askHomes } from "./ask-homes.ts";
import { type KeyringTools, keyringOf } from "./service-context.ts";

/**
 * Whether an app that is not revoked, in any home, is sealed with an unknown master key. Reads all apps, so it is used only before the key
 * of the customers' hashes is drawn. Asks closed homes too: reading harms no restore.
 *
 * @param answerBy by the runtime's `elapsed`
 * @returns undefined when no home has such an app, but a home has not answered
 */
export async function haveOtherSeals(
  ctx: Pick<KeyringTools, "runtime" | "config" | "credentials">,
  answerBy: number,
): Promise<boolean | undefined> {
  const marks = sealMarks(await keyringOf(ctx));
  const { answers, silentHomes } = await askHomes(ctx, (db) => hasOtherSeal(db, marks), ctx.config.homes, answerBy);
  if ([...answers.values()].includes(true)) return true;
  return silentHomes.length === 0 ? false : undefined;
}
