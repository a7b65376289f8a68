import { type Keyring, type Slot, seal, sealMark, UnsealError, unseal } from "../../core/credentials/sealed-secret.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import {
  countSealedOtherwise,
  REPLACING_QUERIES,
  replaceSeals,
  type SealedSecrets,
  selectSealedOtherwise,
} from "../store/home/seals.ts";
import type { OwnerKey, Owners } from "../store/home/secret-owners.ts";
import { askHomes } from "./ask-homes.ts";
import { HASH_KEY_QUERIES, resealHashKeys } from "./customer-hash.ts";
import { authorOf, keyringOf, type ServiceContext } from "./service-context.ts";

/** How many apps and webhooks one call re-seals at most. */
export const OWNERS_PER_CALL = 100;

/** How many apps or webhooks one query reads. It is more than a call re-seals, because some secrets may not open. */
const OWNERS_PER_READ = 1_000;

/**
 * The most queries of one call: Workers Free allows 50 in an invocation, Workers Paid 1,000. A deployment with more than ten databases
 * is on Paid, because Free has ten at most.
 */
const QUERIES_PER_CALL = 50;
const QUERIES_PER_CALL_PAID = 900;
const FREE_DATABASES = 10;

/** One home needs a read of its apps, a read of its webhooks, the updates, and a count of the secrets that remain. */
const QUERIES_PER_HOME = 2 + REPLACING_QUERIES + 1;

/** Milliseconds from the start of the call: the end of counting, and the end of re-sealing. Both are below WHOLE_LIMIT_MS. */
const COUNT_LIMIT_MS = 4_000;
const ALL_LIMIT_MS = 7_000;

/** How many apps, and how many webhooks, an answer names at most when their secrets do not open. */
const MOST_NAMED = 20;

/** Counts of secrets. An app or a webhook has two during the overlap of a rotation. */
export type ResealCounts = {
  resealed: number;
  /** How many secrets another call can re-seal. */
  remaining: number;
  /** How many of the secrets that this call read cannot be opened with any configured master key. */
  unopened: number;
  /** The apps and webhooks of the unopened secrets, the first 20 of each. */
  unopenedApps: string[];
  unopenedWebhooks: string[];
  /** Homes that do not answer and homes that are closed. Their secrets are not counted. */
  homesDown: string[];
};

/** A secret that no configured master key opens. */
type Fault = { owners: Owners; name: string; message: string };

/**
 * Seals the secrets of up to 100 apps and webhooks, of all open homes, with the newest master key. Call it again until `remaining` is 0 and
 * no home is down: then no secret needs an older key. A closed home is left out, because it may be under restore. A call makes no more
 * queries than the Workers plan allows. Caches do not change: a cached record that no longer opens is read from D1 again.
 */
export async function resealSecrets(ctx: ServiceContext): Promise<ResealCounts> {
  const keyring = await keyringOf(ctx);
  const { directory, homes, closedHomes } = ctx.config;
  const began = ctx.runtime.elapsed();
  // All homes are counted at once. One after the other, each silent home would cost its whole time limit.
  const openHomes = [...homes].filter(([home]) => !closedHomes.has(home));
  const count = (db: D1Database) => countSealedOtherwise(db, sealMark(keyring));
  const counted = await askHomes(ctx, count, openHomes, began + COUNT_LIMIT_MS);
  const directoryHomes = openHomes.filter(([home, db]) => db === directory && counted.answers.has(home));
  const keys = await askHomes(ctx, () => keepRunning(ctx, resealHashKeys(ctx)), directoryHomes, began + ALL_LIMIT_MS);
  const silentHomes = new Set([...counted.silentHomes, ...keys.silentHomes]);
  const faults: Fault[] = [];
  let [ownersLeft, resealed, remaining] = [OWNERS_PER_CALL, keys.answers.get(MAIN_HOME) ?? 0, 0];
  const allowed = homes.size > FREE_DATABASES ? QUERIES_PER_CALL_PAID : QUERIES_PER_CALL;
  let [queries, resealedHomes] = [openHomes.length + HASH_KEY_QUERIES, 0];
  for (const openHome of openHomes) {
    const [home] = openHome;
    const secretsOfHome = counted.answers.get(home) ?? 0;
    if (secretsOfHome === 0) continue;
    // The first home is always re-sealed: otherwise a deployment with many homes could never finish.
    const isSpent = resealedHomes > 0 && queries + QUERIES_PER_HOME > allowed;
    if (ownersLeft === 0 || isSpent || ctx.runtime.elapsed() >= began + ALL_LIMIT_MS) {
      remaining += secretsOfHome;
      continue;
    }
    resealedHomes++;
    const reseal = (db: D1Database) => keepRunning(ctx, resealHome(ctx, db, keyring, ownersLeft));
    const answer = (await askHomes(ctx, reseal, [openHome], began + ALL_LIMIT_MS)).answers.get(home);
    queries += answer?.queries ?? QUERIES_PER_HOME;
    if (answer === undefined) {
      silentHomes.add(home);
      continue;
    }
    ownersLeft -= answer.done;
    faults.push(...answer.faults);
    resealed += answer.resealed;
    remaining += Math.max(0, answer.remaining - answer.faults.length);
  }
  const namesOfUnopened = (owners: Owners) => {
    const names = faults.filter((fault) => fault.owners === owners).map(({ name }) => name);
    return [...new Set(names)].slice(0, MOST_NAMED);
  };
  const [unopenedApps, unopenedWebhooks] = [namesOfUnopened("apps"), namesOfUnopened("webhooks")];
  if (faults.length > 0) {
    const warning = "no master key here opens some secrets: they were not re-sealed";
    const secrets = faults.length;
    ctx.telemetry.warn({ warning, secrets, apps: unopenedApps, webhooks: unopenedWebhooks, first: faults[0]?.message });
  }
  const homesDown = [...homes.keys()].filter((home) => closedHomes.has(home) || silentHomes.has(home));
  return { resealed, remaining, unopened: faults.length, unopenedApps, unopenedWebhooks, homesDown };
}

/** Lets work continue after the answer, when its home is too slow for the answer. */
function keepRunning<T>({ waitUntil }: ServiceContext, work: Promise<T>): Promise<T> {
  waitUntil(work.catch(() => {}));
  return work;
}

/**
 * Re-seals up to `most` apps and webhooks of one home. `remaining` counts the secrets that still have another key, also the secrets of
 * `faults`.
 */
async function resealHome(ctx: ServiceContext, db: D1Database, keyring: Keyring, most: number) {
  const mark = sealMark(keyring);
  const ready: RenewedSecrets[] = [];
  const faults: Fault[] = [];
  let queries = REPLACING_QUERIES + 1;
  const readSealed = (...which: Parameters<typeof selectSealedOtherwise>) => {
    queries++;
    return selectSealedOtherwise(...which);
  };
  for await (const [owners, sealedSecrets] of dueOwners(db, mark, readSealed)) {
    const renewed = await renewSeals(ctx, keyring, owners, sealedSecrets);
    for (const { message } of renewed.faults) faults.push({ owners, name: sealedSecrets.name, message });
    if (renewed.slots > 0 && ready.push(renewed) === most) break;
  }
  const readyOwners = (owners: Owners) => ready.filter((each) => each.owners === owners).map(({ owner }) => owner);
  const changed = await replaceSeals(
    db,
    { apps: readyOwners("apps"), webhooks: readyOwners("webhooks") },
    authorOf(ctx),
  );
  const resealed = ready.reduce((sum, { owner, slots }) => sum + (changed.has(owner.version) ? slots : 0), 0);
  return { done: ready.length, resealed, remaining: await countSealedOtherwise(db, mark), faults, queries };
}

/** The apps, then the webhooks, that are sealed with another key, by site and name. */
async function* dueOwners(
  db: D1Database,
  mark: string,
  read: typeof selectSealedOtherwise,
): AsyncGenerator<[Owners, SealedSecrets]> {
  for (const owners of ["apps", "webhooks"] as const) {
    for (let after: OwnerKey | undefined = { siteId: 0, name: "" }; after !== undefined; ) {
      const sealedSecrets: SealedSecrets[] = await read(db, owners, mark, after, OWNERS_PER_READ);
      for (const each of sealedSecrets) yield [owners, each];
      after = sealedSecrets.length < OWNERS_PER_READ ? undefined : sealedSecrets.at(-1);
    }
  }
}

/** An app or a webhook with its new seals, their count, and the errors of the secrets that did not open and stay unchanged. */
type RenewedSecrets = {
  owners: Owners;
  owner: Parameters<typeof replaceSeals>[1]["apps"][number];
  slots: number;
  faults: UnsealError[];
};

async function renewSeals(
  { runtime }: ServiceContext,
  keyring: Keyring,
  owners: Owners,
  sealedSecrets: SealedSecrets,
): Promise<RenewedSecrets> {
  const renewed: RenewedSecrets = { owners, owner: { ...sealedSecrets, before: sealedSecrets }, slots: 0, faults: [] };
  const { siteId, name } = sealedSecrets;
  const renewSlot = async (slot: Slot, version: string, sealed: string): Promise<string> => {
    if (sealed.startsWith(sealMark(keyring))) return sealed;
    try {
      const owner = { siteId, version, ...(owners === "apps" ? { appid: name } : { webhookId: name }) };
      const again = await seal(runtime, keyring, owner, slot, await unseal(keyring, owner, slot, sealed));
      renewed.slots++;
      return again;
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      renewed.faults.push(error);
      return sealed;
    }
  };
  const { version, secret, previousVersion, previousSecret } = sealedSecrets;
  renewed.owner.secret = await renewSlot("current", version, secret);
  if (previousVersion !== null && previousSecret !== null) {
    renewed.owner.previousSecret = await renewSlot("previous", previousVersion, previousSecret);
  }
  return renewed;
}
