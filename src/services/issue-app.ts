import * as z from "zod/mini";
import { APPID } from "../credentials/resolve-credentials.ts";
import { seal } from "../credentials/sealed-secret.ts";
import { displayName } from "../fields.ts";
import { insertApp } from "../store/directory/apps.ts";
import { appidTaken } from "./refusals.ts";
import { newAppid, newSecret, newVersion } from "./secrets.ts";
import { authorOf, forgetApp, keyringOf, type ServiceContext } from "./service-context.ts";

const APPID_RULE = "must be 1 to 64 of A-Z a-z 0-9 _ -";
const SECRET_RULE = "must be 8 to 256 printable ASCII characters";

/** Body of POST /admin/sites/:site_id/apps. An operator may import the appid, the secret or both from another service. */
export const issueAppSchema = z.strictObject({
  name: displayName,
  appid: z.optional(z.string(APPID_RULE).check(z.regex(APPID, APPID_RULE))),
  secret: z.optional(z.string(SECRET_RULE).check(z.regex(/^[\x20-\x7e]{8,256}$/, SECRET_RULE))),
});

export type IssueApp = z.infer<typeof issueAppSchema> & { siteId: number };

/** The new app with its secret, which no later answer shows. */
export interface IssuedApp {
  appid: string;
  secret: string;
  name: string;
  version: string;
}

/**
 * Issues an app for a site, or imports one.
 *
 * @throws ServiceError `conflict`, reason `appid_taken`
 */
export async function issueApp(ctx: ServiceContext, input: IssueApp): Promise<IssuedApp> {
  const { siteId, name } = input;
  const { runtime } = ctx;
  const appid = input.appid ?? newAppid(runtime);
  const secret = input.secret ?? newSecret(runtime);
  const version = newVersion(runtime);
  const sealed = await seal(runtime, await keyringOf(ctx), { siteId, appid, version }, "current", secret);
  const imported = (["appid", "secret"] as const).filter((field) => input[field] !== undefined);
  const app = { appid, siteId, name, version, secret: sealed, imported };
  if (!(await insertApp(ctx.config.directory, app, authorOf(ctx)))) throw appidTaken();
  forgetApp(ctx, appid);
  return { appid, secret, name, version };
}
