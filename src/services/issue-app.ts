import * as z from "zod/mini";
import { APPID } from "../credentials/resolve-credentials.ts";
import { seal } from "../credentials/sealed-secret.ts";
import { ServiceError } from "../errors.ts";
import { displayName } from "../fields.ts";
import { reserveRoute } from "../store/directory/app-routes.ts";
import type { Site } from "../store/directory/sites.ts";
import { insertApp } from "../store/home/apps.ts";
import { selectHomeSite } from "../store/home/home-sites.ts";
import { withRetries } from "../store/run-batch.ts";
import { appidTaken, siteUnknown } from "./refusals.ts";
import { newAppid, newSecret, newVersion } from "./secrets.ts";
import {
  authorOf,
  homeOf,
  keyringOf,
  publishApp,
  requireOpenDirectory,
  type ServiceContext,
} from "./service-context.ts";

const APPID_RULE = "must be 1 to 64 of A-Z a-z 0-9 _ -";
const SECRET_RULE = "must be 8 to 256 printable ASCII characters";

/** Body of POST /admin/sites/:site_id/apps. An operator may import the appid, the secret or both from another service. */
export const issueAppSchema = z.strictObject({
  name: displayName,
  appid: z.optional(z.string(APPID_RULE).check(z.regex(APPID, APPID_RULE))),
  secret: z.optional(z.string(SECRET_RULE).check(z.regex(/^[\x20-\x7e]{8,256}$/, SECRET_RULE))),
});

export type IssueApp = z.infer<typeof issueAppSchema> & { site: Site };

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
 * delete the route (release-app.ts) first changes the revision, so no app is ever made behind a route that is deleted.
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
    const route = { appid, siteId, claim: runtime.uuid(), name };
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
