import { homeDatabase } from "../../core/config.ts";
import { type AppRecord, findApp } from "../../core/credentials/find-app.ts";
import { type AppRow, selectApp } from "../../core/store/apps.ts";
import type { Site } from "../store/directory/sites.ts";
import { appRevoked, appUnknown } from "./refusals.ts";
import { endOverlapOf, type RotationInput, readSecretOf, rotateOwnerSecret, type SecretOwnerOf } from "./rotation.ts";
import { newSecret } from "./secrets.ts";
import { homeOf, publishApp, type ServiceContext, seesSite } from "./service-context.ts";

/** @throws as {@link rotateOwnerSecret} does */
export const rotateSecret = (ctx: ServiceContext, { appid, ...input }: RotationInput & { appid: string }) =>
  rotateOwnerSecret(ctx, ownerOf(ctx, appid), input);

/** @throws as {@link endOverlapOf} does */
export const endOverlap = (
  ctx: ServiceContext,
  { appid, ...input }: { appid: string; expectedVersion?: string | undefined },
) => endOverlapOf(ctx, ownerOf(ctx, appid), input);

/**
 * The secret of an app in clear text, for the operator who just issued or rotated it.
 *
 * @throws ServiceError `not_found`; `conflict`, reason `app_revoked`; and as {@link readSecretOf} does
 */
export async function readSecret(
  ctx: ServiceContext,
  { site, appid, version }: { site: Site; appid: string; version: string },
): Promise<string> {
  const app = requireActive(await selectApp(ctx.runtime, homeOf(ctx, site), { siteId: site.id, appid }));
  return readSecretOf(ctx, { siteId: site.id, appid }, app, version);
}

const ownerOf = (ctx: ServiceContext, appid: string): SecretOwnerOf<"apps", AppRecord> => ({
  owners: "apps",
  name: appid,
  async read() {
    const app = await findApp(ctx.runtime, ctx.config, appid);
    return requireActive(app !== null && seesSite(ctx, app.siteId) ? app : undefined);
  },
  db: ({ home }) => homeDatabase(ctx.config, home),
  sealPlaceOf: ({ siteId }) => ({ siteId, appid }),
  newSecret,
  changed: (app) => publishApp(ctx, app),
  ended: requireActive,
});

/** @throws ServiceError `not_found`; `conflict`, reason `app_revoked` */
function requireActive<App extends AppRow>(app: App | undefined): App {
  if (app === undefined) throw appUnknown();
  if (app.revokedAt !== null) throw appRevoked();
  return app;
}
