import { countSealedOtherwise, listSealedOtherwise, replaceSeals, type SealedSecrets } from "../store/seals.ts";
import type { AppDesk } from "./app-desk.ts";
import { type Keyring, type Slot, seal, sealMark, unseal } from "./sealed-secret.ts";

/** Apps one call re-seals at most. */
export const APPS_PER_CALL = 100;

/** Both count secrets: an app in the overlap of a rotation has two. */
export type Resealed = { resealed: number; remaining: number };

/**
 * Seals anew, under the current master key, what an earlier one sealed; revoked apps too, so that nothing is left that needs the
 * earlier key. One call takes one bite: to be repeated until nothing remains. No cache needs to be told, because the secrets
 * stay what they are and a cached record that no longer opens falls back to D1.
 *
 * @throws UnsealError when no master key here opens one of them, after the others of the bite were re-sealed
 */
export async function resealSecrets({ db, by, ...desk }: AppDesk): Promise<Resealed> {
  const keyring = await desk.keyring();
  const mark = sealMark(keyring);
  const due = await listSealedOtherwise(db, mark, APPS_PER_CALL);
  const outcomes = await Promise.allSettled(due.map((app) => resealApp(keyring, app)));
  const ready = outcomes.filter((outcome) => outcome.status === "fulfilled").map(({ value }) => value);
  const changed = await replaceSeals(
    db,
    ready.map(({ app }) => app),
    by,
  );
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return {
    resealed: ready.reduce((sum, { app, slots }) => sum + (changed.has(app.appid) ? slots : 0), 0),
    remaining: await countSealedOtherwise(db, mark),
  };
}

/** The app with new seals where they are due, and how many those were. */
async function resealApp(
  keyring: Keyring,
  { appid, siteId, version, secret, previousSecret }: SealedSecrets,
): Promise<{ app: SealedSecrets; slots: number }> {
  let slots = 0;
  const renew = async (slot: Slot, sealed: string) => {
    if (sealed.startsWith(sealMark(keyring))) return sealed;
    slots++;
    const owner = { siteId, appid };
    return seal(keyring, owner, slot, await unseal(keyring, owner, slot, sealed));
  };
  const app = {
    appid,
    siteId,
    version,
    secret: await renew("current", secret),
    previousSecret: previousSecret === null ? null : await renew("previous", previousSecret),
  };
  return { app, slots };
}
