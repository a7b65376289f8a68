import * as z from "zod/mini";
import { homeDatabase } from "../../core/config.ts";
import { invalidInput, ServiceError } from "../../core/errors.ts";
import { displayName } from "../../core/fields.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import { ENDED_STATUSES, SITE_STATUSES } from "../../core/store/schema.ts";
import {
  insertSite,
  type Site,
  selectSite,
  selectSites,
  updateSiteCopy,
  updateSiteOpen,
} from "../store/directory/sites.ts";
import { selectAge } from "../store/home/sessions.ts";
import { selectDeletion } from "../store/home/site-deletions.ts";
import {
  HIGHEST_FIRST_CHAT_ID,
  insertHomeSite,
  type KnownSite,
  selectHighestId,
  selectHomeSite,
  updateHomeSite,
} from "../store/home/sites.ts";
import { afterId, type Page, type PageInput, pageOf } from "./page.ts";
import { publishAppsOf } from "./publish-apps.ts";
import { siteUnknown } from "./refusals.ts";
import { rememberFloors, rememberSite } from "./remember-floors.ts";
import {
  authorOf,
  homeOf,
  requireOpenDirectory,
  requireRole,
  type ServiceContext,
  seesSite,
} from "./service-context.ts";

export { ENDED_STATUSES, SITE_STATUSES } from "../../core/store/schema.ts";
export type { Site } from "../store/directory/sites.ts";

const FIRST_ID_RULE = `must be an integer from 1 to ${HIGHEST_FIRST_CHAT_ID}`;

/** The chat_id of a site's first session. */
const firstChatId = z
  .int(FIRST_ID_RULE)
  .check(z.minimum(1, FIRST_ID_RULE), z.maximum(HIGHEST_FIRST_CHAT_ID, FIRST_ID_RULE));

const RETENTION_RULE = "must be an integer from 1 to 3650, or null";

/** How many days a site keeps its sessions. */
export const retentionDays = z
  .int(RETENTION_RULE)
  .check(z.minimum(1, RETENTION_RULE), z.maximum(3_650, RETENTION_RULE));

/** Body of POST /admin/sites. */
export const newSiteSchema = z.strictObject({
  name: displayName,
  home: z._default(z.string("must be the name of a home"), MAIN_HOME),
  first_chat_id: z._default(firstChatId, 1),
});

interface NewSite {
  name: string;
  home: string;
  firstChatId: number;
}

/** How often a call begins a site at most: an equal call at the same moment may take the site that this call began. */
const TRIES = 20;

/**
 * Creates a site in a home. Several sites may have the same name. The directory gets the site first, with the status `creating`, then the
 * home gets it, then the directory opens it. The same call sent again finishes an unfinished site.
 *
 * @throws ServiceError `forbidden` for a first_chat_id by somebody else than an owner; `invalid_input` for an unknown home; `conflict`,
 *   reason `site_id_taken`, when the home has a site that the directory does not know; `unavailable` when one of the two databases does not
 *   answer, or `main` is closed
 */
export async function createSite(ctx: ServiceContext, { name, home, firstChatId }: NewSite): Promise<Site> {
  const { runtime, config } = ctx;
  if (firstChatId > 1) requireRole(ctx, "owner");
  requireOpenDirectory(ctx);
  if (!config.homes.has(home)) throw invalidInput([{ field: "home", message: homeRule(config.homes) }]);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const site = await insertSite(runtime, config.directory, { name, home, firstChatId }, authorOf(ctx));
    if (!(await finishSite(ctx, { site }))) continue;
    ctx.waitUntil(rememberSite(ctx, site));
    return { ...site, status: "open" };
  }
  throw new ServiceError("conflict", { reason: "site_busy", detail: "Others create sites of this name; try again." });
}

const homeRule = (homes: ReadonlyMap<string, unknown>) => `must be one of ${[...homes.keys()].join(", ")}`;

/**
 * Finishes a site whose creation stopped half-way: its home gets it, then the directory opens it. A second call changes nothing.
 *
 * @returns false when the site was already finished
 * @throws ServiceError `conflict`, reason `site_id_taken`, when the home has another site under this id; `unavailable` when one of the
 *   two databases does not answer
 */
export async function finishSite(ctx: ServiceContext, { site }: { site: Site }): Promise<boolean> {
  const { runtime, config } = ctx;
  const { id: siteId, name, home, firstChatId, createdAt } = site;
  const row = { siteId, name, createdAt, chatIdFloor: firstChatId - 1 };
  if (!(await insertHomeSite(runtime, homeDatabase(config, home), row, authorOf(ctx)))) throw idTaken(site);
  return updateSiteOpen(runtime, config.directory, siteId);
}

const idTaken = ({ id, home }: Site) =>
  new ServiceError("conflict", {
    reason: "site_id_taken",
    detail: `The home ${home} has another site ${id}, or had one that ended. If the directory was restored, send POST /admin/homes/${MAIN_HOME}/restored first.`,
  });

/** @throws ServiceError `not_found`, also for a site that the operator does not see */
export async function findSite(ctx: ServiceContext, { siteId }: { siteId: number }): Promise<Site> {
  if (!seesSite(ctx, siteId)) throw siteUnknown();
  const site = await selectSite(ctx.config.directory, siteId);
  if (site === undefined) throw siteUnknown();
  return site;
}

/** Whether a site is being deleted, or is deleted. */
export const hasEnded = ({ status }: Pick<Site, "status">): boolean => ENDED_STATUSES.some((ended) => ended === status);

/** How long a site keeps its sessions. */
export interface Retention {
  /** Null when they are kept for ever. */
  days: number | null;
  /** When the oldest session was created, in Unix seconds; null without sessions. */
  oldestAt: number | null;
  /** How many sessions are older than `days`: estimated from their ids, not counted. Null when they are kept for ever. */
  older: number | null;
}

/**
 * How long a site keeps its sessions, and how many are older.
 *
 * @param input `days` replaces the site's own setting
 * @throws ServiceError `not_found` when the home does not have the site
 */
export async function readRetention(
  ctx: ServiceContext,
  { site, days }: { site: Site; days?: number | undefined },
): Promise<Retention & { events: boolean }> {
  const db = homeOf(ctx, site);
  const homeSite = await selectHomeSite(db, site.id);
  if (homeSite === undefined) throw siteUnknown();
  const retentionDays = days ?? homeSite.retentionDays;
  const since = retentionDays === null ? null : ctx.now - retentionDays * 86_400 + 1;
  const { oldestAt, older } = await selectAge(db, site.id, since ?? 0);
  return { days: retentionDays, oldestAt, older: retentionDays === null ? null : older, events: homeSite.events };
}

/** Whether accepted calls of a site write events. @throws ServiceError `not_found` when the home does not have the site */
export async function siteHasEvents(ctx: ServiceContext, { site }: { site: Site }): Promise<boolean> {
  const homeSite = await selectHomeSite(homeOf(ctx, site), site.id);
  if (homeSite === undefined) throw siteUnknown();
  return homeSite.events;
}

/**
 * The next chat_id of a site (`next`), and the chat_id to which the site was last made to skip (`setTo`).
 *
 * @throws ServiceError `not_found` when the home does not have the site
 */
export async function readNextChatId(
  ctx: ServiceContext,
  { site }: { site: Site },
): Promise<{ next: number; setTo: number }> {
  const highestId = await selectHighestId(homeOf(ctx, site), site.id);
  if (highestId === undefined) throw siteUnknown();
  // A restored home may be older than the directory's copy.
  const floor = Math.max(highestId.floor, site.firstChatId - 1);
  return { next: Math.max(highestId.highest, floor) + 1, setTo: floor + 1 };
}

/** The rule that a first_chat_id breaks when it is not above this id. */
export const tooLowRule = (givenId: number): string =>
  `must be above ${givenId}, the highest chat_id that the site has given or skipped`;

/** A page of the sites that the operator sees, by id. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listSites({ config, identity }: ServiceContext, input: PageInput): Promise<Page<Site>> {
  const rows = await selectSites(config.directory, afterId(input), input.limit + 1, identity?.onlySite);
  return pageOf(rows, input.limit, ({ id }) => id);
}

/** Body of PATCH /admin/sites/:site_id. */
export const siteChangeSchema = z
  .strictObject({
    name: z.optional(displayName),
    status: z.optional(z.enum(SITE_STATUSES, 'must be "open" or "closed"')),
    first_chat_id: z.optional(firstChatId),
    events: z.optional(z.boolean("must be true or false")),
    retention_days: z.optional(z.nullable(retentionDays)),
  })
  .check(
    z.refine((change) => Object.values(change).some((value) => value !== undefined), {
      error: "must change name, status, first_chat_id, events or retention_days",
      params: { minProperties: 1 },
    }),
  );

export interface SiteChange {
  name?: string | undefined;
  status?: (typeof SITE_STATUSES)[number] | undefined;
  /** The id of the next session: above every id that the site has given or skipped, or the same as the last setting. */
  firstChatId?: number | undefined;
  /** Whether accepted calls write events from now on. */
  events?: boolean | undefined;
  /** How many days sessions are kept from now on; null for ever. Only an owner may change it. */
  retentionDays?: number | null | undefined;
}

/**
 * Renames, opens or closes a site, makes it skip chat ids, turns its events on or off, or changes how long it keeps sessions. The home is
 * changed first, because signed calls obey the home. Then the directory gets a copy, with the next chat id. The same call sent again
 * repairs a missing copy. When the directory has a newer revision than a restored home, the home gets that revision with the change.
 *
 * @throws ServiceError `invalid_input` for a first_chat_id that is too low, and then nothing is changed; `not_found` when the home does not
 *   have the site; `forbidden` for a first_chat_id or a retention by somebody else than an owner; `conflict`, reason `changed_meanwhile`,
 *   or `site_ending` when its deletion has begun; `unavailable`, reason `site_not_copied`, when the home has the change and the directory
 *   does not; `site_not_remembered` when KV does not store the first_chat_id
 */
export async function changeSite(
  ctx: ServiceContext,
  { site, change }: { site: Site; change: SiteChange },
): Promise<Site & { events: boolean }> {
  const { runtime, config } = ctx;
  const { name, status, firstChatId, events, retentionDays } = change;
  if (retentionDays !== undefined || firstChatId !== undefined) requireRole(ctx, "owner");
  const chatIdFloor = firstChatId === undefined ? undefined : firstChatId - 1;
  const wantedChange = { name, status, chatIdFloor, events, retentionDays };
  const changed = await updateHomeSite(
    runtime,
    homeOf(ctx, site),
    knownOf(site),
    wantedChange,
    authorOf(ctx),
    ctx.answerBy,
  );
  if (changed === undefined) throw (await selectDeletion(homeOf(ctx, site), site)) ? siteEnding() : siteUnknown();
  const { site: now, givenId } = changed;
  if (givenId !== undefined) {
    throw invalidInput([{ field: "first_chat_id", message: tooLowRule(givenId) }]);
  }
  if (events !== undefined) publishAppsOf(ctx, site);
  // Every copy holds the next chat id: an older copy that arrives late is dropped, and its chat id must not be lost.
  const copied = { name: now.name, status: now.status, revision: now.revision, retentionDays: now.retentionDays };
  const copy = { ...copied, firstChatId: now.chatIdFloor + 1 };
  await updateSiteCopy(runtime, config.directory, site.id, copy).catch(throwNotCopied);
  if (firstChatId !== undefined) await rememberFloors(ctx, site, now.chatIdFloor).catch(throwNotRemembered);
  return { ...site, ...copy, events: now.events };
}

const siteEnding = () =>
  new ServiceError("conflict", {
    reason: "site_ending",
    detail: "The deletion of this site has begun. If it was answered 503, send DELETE again, which goes on with it.",
  });

const knownOf = ({ id: siteId, home, name, status, firstChatId, revision, retentionDays }: Site): KnownSite => ({
  siteId,
  home,
  name,
  status: status === "closed" ? "closed" : "open",
  chatIdFloor: firstChatId - 1,
  revision,
  retentionDays,
});

function throwNotRemembered(cause: unknown): never {
  const detail =
    "The site is changed, but KV, which keeps first_chat_id for a restore, does not answer: send the same change again.";
  throw new ServiceError("unavailable", { reason: "site_not_remembered", detail, retryAfter: 1, cause });
}

function throwNotCopied(cause: unknown): never {
  if (!(cause instanceof ServiceError) || cause.code !== "unavailable") throw cause;
  const detail = "The site is changed, but the directory does not know it: send the same change again.";
  throw new ServiceError("unavailable", { reason: "site_not_copied", detail, retryAfter: 1, cause });
}
