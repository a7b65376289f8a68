import * as z from "zod/mini";
import { homeClosed, homeDatabase } from "../config.ts";
import { APPID } from "../credentials/resolve-credentials.ts";
import { seal } from "../credentials/sealed-secret.ts";
import { isRefusedFor, ServiceError } from "../errors.ts";
import { displayName } from "../fields.ts";
import { MAIN_HOME } from "../homes.ts";
import { deleteRoute, reserveRoute, selectRoute, selectRouteToRelease } from "../store/directory/app-routes.ts";
import type { Site } from "../store/directory/sites.ts";
import {
  type AppSummary,
  fenceAppid,
  insertApp,
  selectAppSummary,
  selectApps,
  updateRevoked,
} from "../store/home/apps.ts";
import { selectHomeSite } from "../store/home/sites.ts";
import { withRetries } from "../store/run-batch.ts";
import { afterAppid, type Page, type PageInput, pageOf } from "./page.ts";
import { appidTaken, appMissing, appUnknown, siteUnknown } from "./refusals.ts";
import { newAppid, newSecret, newVersion } from "./secrets.ts";
import {
  authorOf,
  homeOf,
  keyringOf,
  publishApp,
  requireOpenDirectory,
  type ServiceContext,
} from "./service-context.ts";

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

/** The new app with its secret, which no later answer shows. */
export interface IssuedApp {
  appid: string;
  secret: string;
  name: string;
  version: string;
}

/** The same site may be changed by others at the same moment. Each try then begins anew, this often at most. */
const TRIES = 10;

/** Time for all of it, in milliseconds: less than an operator waits (WHOLE_LIMIT_MS), so that he is told which appid was kept. */
const LIMIT_MS = 7_000;

/**
 * Issues an app for a site, or imports one. The directory gets the route first, then the home gets the app: the same call again
 * finishes what an earlier one began. A home that does not answer at first is found out before anything is kept.
 *
 * The site's revision is read before the route is claimed, and the app is made only while the site still has it. A release that might
 * delete the route ({@link releaseApp}) first changes the revision, so no app is ever made behind a route that is deleted.
 *
 * @throws ServiceError `conflict`, reason `appid_taken` or `app_busy`; `not_found` when the home does not have the site; `unavailable`
 *   when a database does not answer, or `main` is closed: with reason `app_unfinished` the appid is kept for the site
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
  const sealed = await seal(runtime, await keyringOf(ctx), { siteId, appid, version }, "current", secret);
  const imported = (["appid", "secret"] as const).filter((field) => input[field] !== undefined);
  const app = { siteId, appid, name, version, secret: sealed, imported };
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const isKept = attempt > 1;
    const found = await withRetries(runtime, () => selectHomeSite(db, siteId), answerBy).catch((error: unknown) =>
      isKept ? sayKept(error, appid) : sayNothingKept(error),
    );
    if (found === undefined) throw siteUnknown();
    // A claim of its own in each round: a release that read an earlier one has seen no app.
    const route = { appid, siteId, reservation: runtime.uuid(), name };
    const routed = await reserveRoute(runtime, config.directory, route, authorOf(ctx), answerBy).catch(
      (error: unknown) => sayKept(error, appid, "may be"),
    );
    if (routed !== siteId) throw appidTaken();
    const outcome = await insertApp(runtime, db, app, found.revision, authorOf(ctx), answerBy).catch((error: unknown) =>
      sayKept(error, appid),
    );
    if (outcome === "taken") throw appidTaken();
    if (outcome === "stale") continue;
    const fresh = { previousVersion: null, previousSecret: null, previousExpiresAt: null, revokedAt: null };
    publishApp(ctx, { siteId, appid, home, version, secret: sealed, ...fresh });
    return { appid, secret, name, version };
  }
  const busy = "Others change this site at this moment.";
  throw new ServiceError("conflict", { reason: "app_busy", detail: `${busy} ${keptWords(appid)}`, appid });
}

const keptWords = (appid: string, is = "is") =>
  `The appid ${appid} ${is} kept for this site and may have no app yet: send the same call again with it, or release it with DELETE /admin/apps/${appid}. If it has one after all, the call is 409, and DELETE revokes it.`;

const isUnanswered = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === "unavailable" && error.context.detail === undefined;

/** One of the two databases answered nothing after the directory was to get the route. */
function sayKept(error: unknown, appid: string, is?: "may be"): never {
  if (!isUnanswered(error)) throw error;
  const { cause = error, retryAfter = 1 } = error.context;
  const detail = keptWords(appid, is);
  throw new ServiceError("unavailable", { reason: "app_unfinished", detail, appid, retryAfter, cause });
}

function sayNothingKept(error: unknown): never {
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
  const route = await selectRoute(runtime, config.directory, appid);
  if (route === undefined) return;
  // A route of this site without an app is what an import left that was not finished.
  const isTaken = route.siteId !== site.id || (await selectAppSummary(homeOf(ctx, site), { siteId: site.id, appid }));
  if (isTaken) throw appidTaken();
}

/**
 * An app of a site, without its secrets.
 *
 * @throws ServiceError `not_found`, reason `app_missing` when the appid is kept for the site, which has no such app
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
 * Ends an app: revokes it for good, and its appid stays its site's; or releases the appid when the site has no such app.
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
 * Revokes an app for good: none of its secrets verifies from here on.
 *
 * @throws ServiceError `not_found`, reason `app_missing` when the appid is kept for a site that has no such app
 */
export async function revokeApp(ctx: ServiceContext, { appid }: { appid: string }): Promise<void> {
  const { runtime, config } = ctx;
  const route = await selectRoute(runtime, config.directory, appid);
  if (route === undefined) throw appUnknown();
  const { siteId, home } = route;
  const app = await updateRevoked(runtime, homeDatabase(config, home), { siteId, appid }, authorOf(ctx));
  if (app === undefined) throw appMissing();
  publishApp(ctx, { ...app, home });
}

/**
 * Gives back an appid that is kept for a site although the site has no such app: because its home did not answer when it was issued,
 * or has lost the app by a restore. From then on any site can get it.
 *
 * Not while the home or the directory is closed: it may be under restore, and have the app again after the next one.
 *
 * @param input `siteId` when only a route of this site is meant
 * @throws ServiceError `not_found`; `conflict`, reason `app_issued` when the site has the app, `route_claimed` when a call has asked
 *   for the appid since, or `home_behind` when the home was restored and not settled; `unavailable` when a database does not answer
 *   or is closed. Then nothing is released
 */
export async function releaseApp(
  ctx: ServiceContext,
  { appid, siteId }: { appid: string; siteId?: number },
): Promise<void> {
  const { runtime, config } = ctx;
  const route = await selectRouteToRelease(runtime, config.directory, appid);
  if (route === undefined || (siteId !== undefined && route.siteId !== siteId)) throw appUnknown();
  const closed = [MAIN_HOME, route.home].find((home) => config.closedHomes.has(home));
  if (closed !== undefined) throw new ServiceError("unavailable", homeClosed(closed));
  // From here on no call that began before can make the app; one that begins now claims the route anew.
  const fence = await fenceAppid(runtime, homeDatabase(config, route.home), route, route.siteRevision);
  if (fence === "issued") throw appIssued();
  if (fence === "behind") throw homeBehind(route.home);
  if (!(await deleteRoute(runtime, config.directory, route, authorOf(ctx)))) throw claimed();
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

const claimed = () =>
  new ServiceError("conflict", {
    reason: "route_claimed",
    detail:
      "Somebody asked for this appid at this moment, so it is not released. Look whether the app is there, and try again.",
  });
