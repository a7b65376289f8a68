import * as z from "zod/mini";
import { APPID } from "../credentials/resolve-credentials.ts";
import { seal } from "../credentials/sealed-secret.ts";
import { displayName } from "../fields.ts";
import { insertRoute } from "../store/directory/app-routes.ts";
import type { Site } from "../store/directory/sites.ts";
import { insertApp } from "../store/home/apps.ts";
import { appidTaken } from "./refusals.ts";
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

/**
 * Issues an app for a site, or imports one. The directory gets the route first, then the home gets the app: the same call again
 * finishes what an earlier one began.
 *
 * @throws ServiceError `conflict`, reason `appid_taken`; `unavailable` when a database does not answer, or `main` is closed
 */
export async function issueApp(ctx: ServiceContext, input: IssueApp): Promise<IssuedApp> {
  const { site, name } = input;
  const { id: siteId, home } = site;
  const { runtime, config } = ctx;
  requireOpenDirectory(ctx);
  const db = homeOf(ctx, site);
  const appid = input.appid ?? newAppid(runtime);
  const secret = input.secret ?? newSecret(runtime);
  const version = newVersion(runtime);
  const sealed = await seal(runtime, await keyringOf(ctx), { siteId, appid, version }, "current", secret);
  const imported = (["appid", "secret"] as const).filter((field) => input[field] !== undefined);
  const app = { siteId, appid, name, version, secret: sealed, imported };
  if ((await insertRoute(runtime, config.directory, { appid, siteId })) !== siteId) throw appidTaken();
  if (!(await insertApp(runtime, db, app, authorOf(ctx)))) throw appidTaken();
  const fresh = { previousVersion: null, previousSecret: null, previousExpiresAt: null, revokedAt: null };
  publishApp(ctx, { siteId, appid, home, version, secret: sealed, ...fresh });
  return { appid, secret, name, version };
}
