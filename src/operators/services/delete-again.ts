import * as z from "zod/mini";
import { positiveId } from "../../core/fields.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import { keepDeletion, keepDeletions, selectDeletionsOf } from "../store/directory/site-deletions.ts";
import { selectHomesOf } from "../store/directory/sites.ts";
import {
  rememberDeletions,
  type SiteDeletion,
  selectBack,
  selectKeptDeletions,
  stopSite,
} from "../store/home/site-deletions.ts";
import { listSiteDeletions, writeSiteDeletion } from "../store/kv-site-deletions.ts";
import { hashCheck, knownHasher } from "./customer-hash.ts";
import { deletionText } from "./delete-site.ts";
import { fromKv } from "./remember-floors.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";

/** This file deletes again, in a restored database, the deleted sites that the restore brought back. */

const ID = /^[0-9a-f-]{36}$/;
const HASH = /^[0-9a-f]{8}\.[0-9a-f]{64}$/;

/** The receipt of a site's deletion that an operator kept, as the answer of DELETE gave it. */
const keptDeletionSchema = z.strictObject({
  deletion_id: z.string().check(z.regex(ID, "must be a deletion_id")),
  site_id: positiveId,
  hash: z.string().check(z.regex(HASH, "must be the hash of a deletion")),
});

export const keptDeletionsSchema = z.array(keptDeletionSchema);

export type KeptDeletion = z.infer<typeof keptDeletionSchema>;

type KnownDeletion = Omit<SiteDeletion, "keptAt">;

/** The result for the deleted sites of a restored home. */
interface RepeatedDeletions {
  /** The ids of all deleted sites, brought back or not. */
  ended: Set<number>;
  /** How many were brought back, and are deleted once more. */
  deletedAgain: number;
  /** How many were brought back, but the hash of KV's entry has an unknown key, so it cannot be checked. */
  uncheckedBack: number;
}

/**
 * Deletes again the sites of a restored home that the directory, KV or the operator knows as deleted: their apps and webhooks go at once,
 * and the cron deletes the rest. The directory and KV get back what they have lost, because another restore may follow.
 *
 * @throws ServiceError `unavailable` when the directory, the home or KV does not answer
 */
export async function deleteAgain(
  ctx: ServiceContext,
  { home, db }: { home: string; db: D1Database },
  keptDeletions: readonly KeptDeletion[],
): Promise<RepeatedDeletions> {
  const { runtime, config, now, answerBy } = ctx;
  const { trustedDeletions, unchecked } = await listedInKv(ctx, home);
  const allDeletions = [
    ...(await keptBy(ctx, { home, db }, keptDeletions)),
    ...trustedDeletions,
    ...(await selectDeletionsOf(config.directory, home)),
  ];
  const deletionsBySite = new Map(allDeletions.map((each) => [each.siteId, each]));
  if (deletionsBySite.size + unchecked.size === 0) return { ended: new Set(), deletedAgain: 0, uncheckedBack: 0 };
  const back = await selectBack(db, home, [...deletionsBySite.keys(), ...unchecked]);
  const goneSites = [...deletionsBySite.values()].filter((each) => each.home === home && !back.has(each.siteId));
  if (goneSites.length > 0)
    await rememberDeletions(
      db,
      goneSites.map((each) => ({ ...each, keptAt: now })),
    );
  const hasher = back.size === 0 ? undefined : await knownHasher(ctx);
  let deletedAgain = 0;
  for (const deletion of deletionsBySite.values()) {
    const isBack = deletion.home === home && back.has(deletion.siteId);
    if (isBack && hasher !== undefined) {
      const hash = await hasher(deletion.siteId, deletionText(deletion));
      await fromKv(ctx)(() => writeSiteDeletion(config.credentials, home, { ...deletion, hash }));
    }
    if (isBack) {
      await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);
      deletedAgain++;
    }
    // The directory keeps the deletions of other homes until those homes are settled.
    if (isBack || deletion.home !== home) {
      await keepDeletion(runtime, config.directory, { ...deletion, doneAt: null }, now, answerBy);
    }
  }
  const uncheckedBack = [...unchecked].filter((siteId) => !deletionsBySite.has(siteId) && back.has(siteId)).length;
  return { ended: new Set(deletionsBySite.keys()), deletedAgain, uncheckedBack };
}

/**
 * The deletions that an operator sends, each for the home that its hash names. When the key of the hash is unknown, the directory names the
 * home. When the directory does not know the site, but the restored home has it, the home is the restored one.
 */
async function keptBy(
  ctx: ServiceContext,
  { home, db }: { home: string; db: D1Database },
  keptDeletions: readonly KeptDeletion[],
): Promise<KnownDeletion[]> {
  if (keptDeletions.length === 0) return [];
  const { config, now } = ctx;
  const siteIds = keptDeletions.map(({ site_id: siteId }) => siteId);
  const [check, homes, here] = await Promise.all([
    hashCheck(ctx),
    selectHomesOf(config.directory, siteIds),
    selectBack(db, home, siteIds),
  ]);
  const deletions: KnownDeletion[] = [];
  for (const { site_id: siteId, deletion_id: id, hash } of keptDeletions) {
    for (const homeName of config.homes.keys()) {
      const isHashOfHome = await check(hash, siteId, deletionText({ home: homeName, id }));
      if (isHashOfHome ?? homeName === (homes.get(siteId) ?? (here.has(siteId) ? home : undefined)))
        deletions.push({ siteId, id, home: homeName, begunAt: now, doneAt: null });
    }
  }
  return deletions;
}

/** The deletions that KV knows. Somebody who can write to KV cannot delete a site: the hash shows which entries the Worker has written. */
async function listedInKv(
  ctx: ServiceContext,
  home: string,
): Promise<{ trustedDeletions: KnownDeletion[]; unchecked: Set<number> }> {
  const listed = await listSiteDeletions(ctx.config.credentials, home, fromKv(ctx));
  const trustedDeletions: KnownDeletion[] = [];
  const unchecked = new Set<number>();
  if (listed.length === 0) return { trustedDeletions, unchecked };
  const check = await hashCheck(ctx);
  for (const { siteId, id, begunAt, hash } of listed) {
    const isOurs = ID.test(id) ? await check(hash, siteId, deletionText({ home, id })) : false;
    if (isOurs === true) trustedDeletions.push({ siteId, id, home, begunAt, doneAt: null });
    else {
      if (isOurs === undefined && HASH.test(hash)) unchecked.add(siteId);
      const warning = "the end of a site in KV cannot be believed: nothing was deleted for it";
      ctx.telemetry.warn({ warning, home, site: siteId });
    }
  }
  return { trustedDeletions, unchecked };
}

/** Copies the deletions of another home to a restored directory. */
export async function keepDeletionsOf(ctx: ServiceContext, home: string, db: D1Database): Promise<void> {
  if (home === MAIN_HOME) return;
  const deletions = await selectKeptDeletions(db, home);
  await keepDeletions(ctx.config.directory, home, deletions, ctx.now);
}
