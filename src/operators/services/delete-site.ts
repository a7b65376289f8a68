import * as z from "zod/mini";
import { invalidInput, ServiceError } from "../../core/errors.ts";
import { text } from "../../core/fields.ts";
import { newRequestId } from "../../core/request-id.ts";
import { keepDeletion } from "../store/directory/site-deletions.ts";
import type { Site } from "../store/directory/sites.ts";
import { beginDeletion, countLeft, type SiteDeletion, selectDeletion, stopSite } from "../store/home/site-deletions.ts";
import { selectHomeSite } from "../store/home/sites.ts";
import { writeSiteDeletion } from "../store/kv-site-deletions.ts";
import { customerHasher, knownHasher } from "./customer-hash.ts";
import { areKeptByOperator } from "./erase-customer.ts";
import { siteUnknown } from "./refusals.ts";
import { fromKv } from "./remember-floors.ts";
import { authorOf, homeOf, requireOpenHome, type ServiceContext } from "./service-context.ts";

export type { SiteDeletion } from "../store/home/site-deletions.ts";
export { LEFT_LIMIT } from "../store/home/site-deletions.ts";
export { SITE_TABLES } from "../store/site-tables.ts";

/** Body of DELETE /admin/sites/:site_id. */
export const siteDeletionSchema = z.strictObject({ name: text(1, 100) });

/** The text that is hashed for the deletion of a site. It is longer than any customer's id, so that no customer has the same hash. */
export const deletionText = ({ home, id }: Pick<SiteDeletion, "home" | "id">): string =>
  `All data of this site in the home ${home} goes, says the deletion with the id ${id}`;

/**
 * Begins the deletion of a closed site: its apps are no longer known, nothing is delivered to its webhooks, and the cron deletes all of its
 * rows except those in the audit log. The same call sent again finishes what a fault has interrupted.
 *
 * The order of writes keeps a restore from bringing the site back. The home decides. Then the directory and KV store the decision. Only
 * then anything is deleted.
 *
 * @param input `name`: the site's name, so that nobody deletes another site by mistake
 * @throws ServiceError `invalid_input` for another name; `conflict`, reason `site_open`; `unavailable` when the home or the directory is
 *   closed, or a database or KV does not answer: then nothing is deleted
 */
export async function deleteSite(
  ctx: ServiceContext,
  { site, name }: { site: Site; name: string },
): Promise<SiteDeletion & { hash: string }> {
  const { runtime, config, answerBy, now } = ctx;
  const { id: siteId, home } = site;
  requireOpenHome(ctx, home);
  const db = homeOf(ctx, site);
  const hasher = await customerHasher(ctx);
  const wantedDeletion = { siteId, id: newRequestId(runtime), home, name };
  const deletion = await beginDeletion(runtime, db, wantedDeletion, authorOf(ctx), answerBy);
  if (deletion === undefined) throw await whyNot(ctx, site, name);
  const hash = await hasher(siteId, deletionText(deletion));
  if (deletion.keptAt !== null) return { ...deletion, hash };
  await fromKv(ctx)(() => writeSiteDeletion(config.credentials, home, { ...deletion, hash }));
  await keepDeletion(runtime, config.directory, deletion, now, answerBy);
  await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);
  return { ...deletion, keptAt: now, hash };
}

async function whyNot(ctx: ServiceContext, site: Site, name: string): Promise<ServiceError> {
  const homeSite = await selectHomeSite(homeOf(ctx, site), site.id);
  if (homeSite === undefined) return siteUnknown();
  if (homeSite.name !== name) return invalidInput([{ field: "name", message: "must be the name of this site" }]);
  if (homeSite.status === "closed") {
    const idWasReusedText =
      "Another site had this id and has ended, so this one can only stay closed. Nothing was deleted.";
    return new ServiceError("conflict", { reason: "site_id_taken", detail: idWasReusedText });
  }
  const detail = "The site is open: close it first. Nothing was deleted.";
  return new ServiceError("conflict", { reason: "site_open", detail });
}

export interface DeletionProgress {
  deletion: SiteDeletion;
  /** The rows that remain in its home, by table; each table is counted up to `LEFT_LIMIT`. */
  remaining: Record<string, number>;
  /** The receipt, which the operator keeps. It exists only without KV, and only while the key of its hash is known. */
  receipt: { deletion_id: string; site_id: number; hash: string } | undefined;
}

/** How far the deletion of a site is; undefined when it has not begun. */
export async function readDeletion(
  ctx: ServiceContext,
  { site }: { site: Site },
): Promise<DeletionProgress | undefined> {
  const db = homeOf(ctx, site);
  const deletion = (await selectDeletion(db, site)) ?? (await selectDeletion(ctx.config.directory, site));
  if (deletion === undefined) return undefined;
  const remaining = await countLeft(db, site.id);
  const hash = areKeptByOperator(ctx) ? await (await knownHasher(ctx))?.(site.id, deletionText(deletion)) : undefined;
  const receipt = hash === undefined ? undefined : { deletion_id: deletion.id, site_id: site.id, hash };
  return { deletion, remaining, receipt };
}
