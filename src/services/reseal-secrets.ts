import { type Keyring, type Slot, seal, sealMark, UnsealError, unseal } from "../credentials/sealed-secret.ts";
import type { AppKey } from "../store/home/apps.ts";
import { countSealedOtherwise, listSealedOtherwise, replaceSeals, type SealedSecrets } from "../store/home/seals.ts";
import { askHomes } from "./ask-homes.ts";
import { authorOf, keyringOf, type ServiceContext } from "./service-context.ts";

/** How many apps one call re-seals at most. */
export const APPS_PER_CALL = 100;

/** How many apps are read at a time. More than are re-sealed, because many may not open. */
const APPS_PER_READ = 1_000;

/** Time for counting and for all of the re-sealing, in milliseconds: together less than an operator waits (WHOLE_LIMIT_MS). */
const COUNT_LIMIT_MS = 4_000;
const ALL_LIMIT_MS = 7_000;

/** How many apps with a secret that does not open are named in an answer. */
const APPS_NAMED = 20;

/** Counts of secrets. An app has two during the overlap of a rotation. */
export type Resealed = {
  resealed: number;
  /** The secrets that another call can re-seal. */
  remaining: number;
  /** The secrets that this call read and that no configured master key opens. */
  unopened: number;
  /** Their apps, the first 20. */
  unopenedApps: string[];
  /** Homes that do not answer and homes that CLOSED_HOMES names. Their secrets are not counted. */
  homesDown: string[];
};

/**
 * Re-seals up to 100 apps of all homes whose seals have an older key, also revoked ones; call again until `remaining` is 0 and no home
 * is down. Then nothing needs the older key. A secret that does not open is left as it is. Caches keep their records: the secrets are
 * the same, and a cached record that no longer opens is read from D1 again. A closed home is not touched, because it may be under
 * restore.
 */
export async function resealSecrets(ctx: ServiceContext): Promise<Resealed> {
  const keyring = await keyringOf(ctx);
  const { homes, closedHomes } = ctx.config;
  const began = ctx.runtime.elapsed();
  // All are asked first, so that the time that silent homes cost does not add up.
  const open = [...homes].filter(([home]) => !closedHomes.has(home));
  const count = (db: D1Database) => countSealedOtherwise(db, sealMark(keyring));
  const counted = await askHomes(ctx, count, open, began + COUNT_LIMIT_MS);
  const down = new Set(counted.down);
  const faults: { appid: string; message: string }[] = [];
  const total: Resealed = { resealed: 0, remaining: 0, unopened: 0, unopenedApps: [], homesDown: [] };
  let left = APPS_PER_CALL;
  for (const each of open) {
    const [home] = each;
    const due = counted.answers.get(home) ?? 0;
    if (due === 0) continue;
    if (left === 0 || ctx.runtime.elapsed() >= began + ALL_LIMIT_MS) {
      total.remaining += due;
      continue;
    }
    const reseal = (db: D1Database) => resealHome(ctx, db, keyring, left);
    const done = (await askHomes(ctx, reseal, [each], began + ALL_LIMIT_MS)).answers.get(home);
    if (done === undefined) {
      down.add(home);
      continue;
    }
    left -= done.apps;
    faults.push(...done.faults);
    total.resealed += done.resealed;
    total.remaining += Math.max(0, done.remaining - done.faults.length);
  }
  total.homesDown = [...homes.keys()].filter((home) => closedHomes.has(home) || down.has(home));
  total.unopened = faults.length;
  total.unopenedApps = [...new Set(faults.map(({ appid }) => appid))].slice(0, APPS_NAMED);
  if (faults.length > 0) {
    const warning = "no master key here opens some secrets: they were not re-sealed";
    ctx.telemetry.warn({ warning, secrets: faults.length, apps: total.unopenedApps, first: faults[0]?.message });
  }
  return total;
}

/** Re-seals up to `most` apps of one home. `remaining` counts the secrets that are still sealed otherwise, also those of `faults`. */
async function resealHome(ctx: ServiceContext, db: D1Database, keyring: Keyring, most: number) {
  const mark = sealMark(keyring);
  const ready: Renewed[] = [];
  const faults: { appid: string; message: string }[] = [];
  for await (const found of dueApps(db, mark)) {
    const renewed = await renew(ctx, keyring, found);
    for (const { message } of renewed.faults) faults.push({ appid: found.appid, message });
    if (renewed.slots > 0 && ready.push(renewed) === most) break;
  }
  const changed = await replaceSeals(
    db,
    ready.map(({ app }) => app),
    authorOf(ctx),
  );
  const resealed = ready.reduce((sum, { app, slots }) => sum + (changed.has(app.version) ? slots : 0), 0);
  return { apps: ready.length, resealed, remaining: await countSealedOtherwise(db, mark), faults };
}

/** The apps with a seal to renew, by site and appid. */
async function* dueApps(db: D1Database, mark: string): AsyncGenerator<SealedSecrets> {
  for (let after: AppKey | undefined = { siteId: 0, appid: "" }; after !== undefined; ) {
    const due: SealedSecrets[] = await listSealedOtherwise(db, mark, after, APPS_PER_READ);
    yield* due;
    after = due.at(-1);
  }
}

/** An app with its new seals, how many they are, and the errors of secrets that did not open and are left as they are. */
type Renewed = { app: SealedSecrets; slots: number; faults: UnsealError[] };

async function renew({ runtime }: ServiceContext, keyring: Keyring, found: SealedSecrets): Promise<Renewed> {
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
