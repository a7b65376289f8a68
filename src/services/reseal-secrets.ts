import { type Keyring, type Slot, seal, sealMark, UnsealError, unseal } from "../credentials/sealed-secret.ts";
import type { Runtime } from "../runtime.ts";
import {
  countSealedOtherwise,
  listSealedOtherwise,
  replaceSeals,
  type SealedSecrets,
} from "../store/directory/seals.ts";
import type { AppDesk } from "./app-desk.ts";

/** Apps one call re-seals at most. */
export const APPS_PER_CALL = 100;

/** Apps read at a time: many that do not open may come before one that does. */
const APPS_PER_READ = 1_000;

/** Apps whose secrets do not open that an answer names. */
const APPS_NAMED = 20;

/** Counts secrets: an app in the overlap of a rotation has two. */
export type Resealed = {
  resealed: number;
  /** What another call can still do. */
  remaining: number;
  /** What no master key here opens, as far as was looked. */
  unopened: number;
  /** The first of their apps. */
  unopened_apps: string[];
};

/**
 * Seals anew, under the current master key, what an earlier one or an earlier form sealed; revoked apps too, so that nothing is
 * left that needs the earlier key. One call takes one bite, past what does not open: to be repeated until nothing remains. No
 * cache needs to be told, because the secrets stay what they are and a cached record that no longer opens falls back to D1.
 */
export async function resealSecrets({ db, by, ...desk }: AppDesk): Promise<Resealed> {
  const keyring = await desk.keyring();
  const mark = sealMark(keyring);
  const ready: Renewed[] = [];
  const faults: { appid: string; message: string }[] = [];
  for await (const found of dueApps(db, mark)) {
    const renewed = await renew(desk.runtime, keyring, found);
    for (const { message } of renewed.faults) faults.push({ appid: found.appid, message });
    if (renewed.slots > 0 && ready.push(renewed) === APPS_PER_CALL) break;
  }
  const changed = await replaceSeals(
    db,
    ready.map(({ app }) => app),
    by,
  );
  const left = await countSealedOtherwise(db, mark);
  const named = [...new Set(faults.map(({ appid }) => appid))].slice(0, APPS_NAMED);
  if (faults.length > 0) {
    const warning = "no master key here opens some secrets: they were not re-sealed";
    desk.telemetry.warn({ warning, secrets: faults.length, apps: named, first: faults[0]?.message });
  }
  return {
    resealed: ready.reduce((sum, { app, slots }) => sum + (changed.has(app.appid) ? slots : 0), 0),
    remaining: Math.max(0, left - faults.length),
    unopened: faults.length,
    unopened_apps: named,
  };
}

/** Every app with a seal to renew, by appid. */
async function* dueApps(db: D1Database, mark: string): AsyncGenerator<SealedSecrets> {
  for (let after: string | undefined = ""; after !== undefined; ) {
    const due: SealedSecrets[] = await listSealedOtherwise(db, mark, after, APPS_PER_READ);
    yield* due;
    after = due.at(-1)?.appid;
  }
}

/** An app with new seals where they are due, how many those are, and what did not open and stays as it is. */
type Renewed = { app: SealedSecrets; slots: number; faults: UnsealError[] };

async function renew(runtime: Runtime, keyring: Keyring, found: SealedSecrets): Promise<Renewed> {
  const renewed: Renewed = { app: { ...found }, slots: 0, faults: [] };
  const renewSlot = async (slot: Slot, version: string, sealed: string): Promise<string> => {
    if (sealed.startsWith(sealMark(keyring))) return sealed;
    try {
      const owner = { ...found, version };
      const again = await seal(runtime, keyring, owner, slot, await unseal(keyring, owner, slot, sealed));
      renewed.slots++;
      return again;
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      renewed.faults.push(error);
      return sealed;
    }
  };
  const { version, secret, previousVersion, previousSecret } = found;
  renewed.app.secret = await renewSlot("current", version, secret);
  if (previousVersion !== null && previousSecret !== null) {
    renewed.app.previousSecret = await renewSlot("previous", previousVersion, previousSecret);
  }
  return renewed;
}
