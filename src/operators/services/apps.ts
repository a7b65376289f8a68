import * as z from "zod/mini";
import { homeClosed, homeDatabase } from "../../core/config.ts";
import { APPID } from "../../core/credentials/resolve-credentials.ts";
import { detailOf } from "../../core/describe-violations.ts";
import { isRefusedFor, ServiceError } from "../../core/errors.ts";
import { displayName } from "../../core/fields.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import { selectRoute } from "../../core/store/app-routes.ts";
import { withRetries } from "../../core/store/run-batch.ts";
import { deleteRoute, reserveRoute, selectReservation, selectRouteToRelease } from "../store/directory/app-routes.ts";
import type { Site } from "../store/directory/sites.ts";
import {
  type AppSummary,
  fenceAppid,
  insertApp,
  selectAppSummary,
  selectApps,
  updateRevoked,
} from "../store/home/apps.ts";
import { selectDeletion } from "../store/home/site-deletions.ts";
import { selectHomeSite } from "../store/home/sites.ts";
import { sealNewSecret } from "./master-key.ts";
import { afterAppid, type Page, type PageInput, pageOf } from "./page.ts";
import { appidTaken, appMissing, appUnknown, siteUnknown } from "./refusals.ts";
import { newAppid, newSecret, newVersion } from "./secrets.ts";
import {
  authorOf,
  homeOf,
  publishApp,
  requireOpenDirectory,
  type ServiceContext,
  seesSite,
} from "./service-context.ts";

export { APPID } from "../../core/credentials/resolve-credentials.ts";
export type { AppSummary } from "../store/home/apps.ts";

const APPID_RULE = "must be 1 to 64 of A-Z a-z 0-9 _ -";
const SECRET_RULE = "must be 8 to 256 printable ASCII characters";

/** Body of POST /admin/sites/:site_id/apps. An operator may import the appid, the secret or both from another service. */
export const issueAppSchema = z.strictObject({
  name: displayName,
  appid: z.optional(z.string(APPID_RULE).check(z.regex(APPID, APPID_RULE))),
  secret: z.optional(z.string(SECRET_RULE).check(z.regex(/^[\x20-\x7e]{8,256}$/, SECRET_RULE))),
});

type IssueApp = z.infer<typeof issueAppSchema> & { site: Site };

/** The new app and its secret. No later answer shows the secret. */
export interface IssuedApp {
  appid: string;
  secret: string;
  name: string;
  version: string;
}

/** How often a call starts again at most, when other calls change the same site at the same moment. */
const TRIES = 10;

/** Milliseconds for the whole call. Less than WHOLE_LIMIT_MS: otherwise the 503 would not name the appid that is reserved. */
const LIMIT_MS = 7_000;

/**
 * Issues an app for a site, or imports one. The directory gets the route first, then the home gets the app. The same call sent again
 * finishes an unfinished app. The home is asked before the route is reserved, so that a silent home leaves no route.
 *
 * The site's revision is read before the route is reserved, and the home makes the app only while the site has this revision.
 * {@link releaseApp} changes the revision before it deletes a route: so no app is made for a deleted route.
 *
 * @throws ServiceError `conflict`, reason `appid_taken` or `app_busy`; `not_found` when the home does not have the site; `unavailable`
 *   when a database does not answer, or `main` is closed. With reason `app_unfinished` the appid is reserved for the site; `internal`,
 *   reason `master_key_wrong`
 */
export async function issueApp(ctx: ServiceContext, input: IssueApp): Promise<IssuedApp> {
  const { site, name } = input;
  const { id: siteId, home } = site;
  const { runtime, config } = ctx;
  requireOpenDirectory(ctx);
  const db = homeOf(ctx, site);
  const answerBy = runtime.elapsed() + LIMIT_MS;
  const appid = input.appid ?? newAppid(runtime);
  const secret = input.secret ?? newSecret(runtime);
  const version = newVersion(runtime);
  const sealed = await sealNewSecret(ctx, { siteId, appid, version }, secret, answerBy).catch(throwNothingKept);
  const importedFields = (["appid", "secret"] as const).filter((field) => input[field] !== undefined);
  const app = { siteId, home, appid, name, version, secret: sealed, imported: importedFields };
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const isKept = attempt > 1;
    const homeSite = await withRetries(runtime, () => selectHomeSite(db, siteId), answerBy).catch((error: unknown) =>
      isKept ? throwKept(error, appid) : throwNothingKept(error),
    );
    if (homeSite === undefined) throw siteUnknown();
    // Each round needs a new reservation: a release that read an earlier one can then not delete this route.
    const route = { appid, siteId, reservation: runtime.uuid(), name };
    const routed = await reserveRoute(runtime, config.directory, route, authorOf(ctx), answerBy).catch(
      (error: unknown) => throwKept(error, appid, "may be"),
    );
    if (routed !== siteId) throw appidTaken();
    const outcome = await insertApp(runtime, db, app, homeSite.revision, authorOf(ctx), answerBy).catch(
      (error: unknown) => throwKept(error, appid),
    );
    if (outcome === "taken") throw appidTaken();
    if (outcome === "stale") {
      const find = () => selectDeletion(db, site);
      const end = await withRetries(runtime, find, answerBy).catch((error: unknown) => throwKept(error, appid));
      if (end !== undefined) throw siteUnknown();
      continue;
    }
    const fresh = { previousVersion: null, previousSecret: null, previousExpiresAt: null, revokedAt: null };
    publishApp(ctx, { siteId, appid, home, version, secret: sealed, events: homeSite.events, ...fresh });
    return { appid, secret, name, version };
  }
  const busy = "Others change this site at this moment.";
  throw new ServiceError("conflict", { reason: "app_busy", detail: `${busy} ${keptWords(appid)}`, appid });
}

const keptWords = (appid: string, is = "is") =>
  `The appid ${appid} ${is} kept for this site and may have no app yet: send the same call again with it, or release it with DELETE /admin/apps/${appid}. If it has one after all, the call is 409, and DELETE revokes it.`;

const isUnanswered = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === "unavailable" && detailOf(error.context) === undefined;

/** Throws the error for a database that did not answer after the directory was asked to reserve the route. */
function throwKept(error: unknown, appid: string, is?: "may be"): never {
  if (!isUnanswered(error)) throw error;
  const { cause = error, retryAfter = 1 } = error.context;
  const detail = keptWords(appid, is);
  throw new ServiceError("unavailable", { reason: "app_unfinished", detail, appid, retryAfter, cause });
}

function throwNothingKept(error: unknown): never {
  if (!isUnanswered(error)) throw error;
  throw new ServiceError("unavailable", { ...error.context, detail: "Nothing was changed." });
}

/**
 * Checks whether an app of a site could be imported under an appid. Writes nothing.
 *
 * @throws ServiceError `conflict`, reason `appid_taken`
 */
export async function checkAppid(ctx: ServiceContext, { site, appid }: { site: Site; appid: string }): Promise<void> {
  const { runtime, config } = ctx;
  const siteId = await selectReservation(runtime, config.directory, appid);
  if (siteId === undefined) return;
  // A route of this site without an app comes from an unfinished import, which may be sent again.
  const isTaken = siteId !== site.id || (await selectAppSummary(homeOf(ctx, site), { siteId: site.id, appid }));
  if (isTaken) throw appidTaken();
}

/**
 * An app of a site, without its secrets.
 *
 * @throws ServiceError `not_found`; with reason `app_missing` the appid is reserved for the site, which has no such app
 */
export async function findApp(
  ctx: ServiceContext,
  { site, appid }: { site: Site; appid: string },
): Promise<AppSummary> {
  const app = await selectAppSummary(homeOf(ctx, site), { siteId: site.id, appid });
  if (app !== undefined) return app;
  const route = await selectRoute(ctx.runtime, ctx.config.directory, appid);
  throw route?.siteId === site.id ? appMissing() : appUnknown();
}

/** A page of a site's apps, by appid, without secrets. @throws ServiceError `invalid_input` for a malformed cursor */
export async function listApps(ctx: ServiceContext, input: PageInput & { site: Site }): Promise<Page<AppSummary>> {
  const { site, limit } = input;
  const rows = await selectApps(homeOf(ctx, site), site.id, afterAppid(input), limit + 1);
  return pageOf(rows, limit, ({ appid }) => appid);
}

/**
 * Revokes an app for good: its appid stays with its site. When the site has no such app, releases the appid instead.
 *
 * @throws as revokeApp and releaseApp do
 */
export async function deleteApp(ctx: ServiceContext, { appid }: { appid: string }): Promise<void> {
  try {
    await revokeApp(ctx, { appid });
  } catch (error) {
    if (!isRefusedFor(error, "app_missing")) throw error;
    await releaseApp(ctx, { appid });
  }
}

/**
 * Revokes an app for good: from now on, a signature with any of its secrets is refused.
 *
 * @throws ServiceError `not_found`; with reason `app_missing` the appid is reserved for a site that has no such app
 */
export async function revokeApp(ctx: ServiceContext, { appid }: { appid: string }): Promise<void> {
  const { runtime, config } = ctx;
  const route = await selectRoute(runtime, config.directory, appid);
  if (route === undefined || !seesSite(ctx, route.siteId)) throw appUnknown();
  const { siteId, home } = route;
  const app = await updateRevoked(runtime, homeDatabase(config, home), { siteId, appid }, authorOf(ctx));
  if (app === undefined) throw appMissing();
  publishApp(ctx, { ...app, home });
}

/**
 * Releases an appid that is reserved for a site without such an app: the home did not answer when the app was issued, or a restore
 * removed the app. From then on any site can get the appid. A closed home or directory is not asked: it may be under restore, and
 * the next restore may bring the app back.
 *
 * @param input with `siteId`, only a route of this site is released
 * @throws ServiceError `not_found`; `conflict`, reason `app_issued` when the site has the app, `route_claimed` when another call
 *   reserved the appid meanwhile, `home_behind` when the home was restored and not reconciled; `unavailable` when a database does not
 *   answer or is closed. Then nothing is released
 */
export async function releaseApp(
  ctx: ServiceContext,
  { appid, siteId }: { appid: string; siteId?: number },
): Promise<void> {
  const { runtime, config } = ctx;
  const route = await selectRouteToRelease(runtime, config.directory, appid);
  const isOther = route !== undefined && siteId !== undefined && route.siteId !== siteId;
  if (route === undefined || isOther || !seesSite(ctx, route.siteId)) throw appUnknown();
  const closed = [MAIN_HOME, route.home].find((home) => config.closedHomes.has(home));
  if (closed !== undefined) throw new ServiceError("unavailable", homeClosed(closed));
  // The fence stops every call of `issueApp` that is in flight. A later call makes a new reservation, so `deleteRoute` refuses.
  const fence = await fenceAppid(runtime, homeDatabase(config, route.home), route, route.siteRevision);
  if (fence === "issued") throw appIssued();
  if (fence === "behind") throw homeBehind(route.home);
  if (!(await deleteRoute(runtime, config.directory, route, authorOf(ctx)))) throw routeReserved();
}

const appIssued = () =>
  new ServiceError("conflict", {
    reason: "app_issued",
    detail: "The site has this app by now, so its appid is not released. Send DELETE again to revoke the app.",
  });

const homeBehind = (home: string) =>
  new ServiceError("conflict", {
    reason: "home_behind",
    detail: `The home ${home} was restored and is not settled, so nothing is released: send POST /admin/homes/${home}/restored first.`,
  });

const routeReserved = () =>
  new ServiceError("conflict", {
    reason: "route_claimed",
    detail:
      "Somebody asked for this appid at this moment, so it is not released. Look whether the app is there, and try again.",
  });
