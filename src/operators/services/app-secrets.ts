import { homeDatabase } from "../../core/config.ts";
import { type AppRecord, findApp } from "../../core/credentials/find-app.ts";
import { type AppRow, selectApp } from "../../core/store/apps.ts";
import type { Site } from "../store/directory/sites.ts";
import { appRevoked, appUnknown } from "./refusals.ts";
import { endOverlapOf, type RotationInput, readSecretOf, rotate, type SecretOwnerOf } from "./rotation.ts";
import { newSecret } from "./secrets.ts";
import { homeOf, publishApp, type ServiceContext, sees } from "./service-context.ts";

/** @throws as {@link rotate} does */
export const rotateSecret = (ctx: ServiceContext, { appid, ...input }: RotationInput & { appid: string }) =>
  rotate(ctx, ownerOf(ctx, appid), input);

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
  const app = active(await selectApp(ctx.runtime, homeOf(ctx, site), { siteId: site.id, appid }));
  return readSecretOf(ctx, { siteId: site.id, appid }, app, version);
}

const ownerOf = (ctx: ServiceContext, appid: string): SecretOwnerOf<"apps", AppRecord> => ({
  owners: "apps",
  name: appid,
  async read() {
    const app = await findApp(ctx.runtime, ctx.config, appid);
    return active(app !== null && sees(ctx, app.siteId) ? app : undefined);
  },
  db: ({ home }) => homeDatabase(ctx.config, home),
  sealedFor: ({ siteId }) => ({ siteId, appid }),
  newSecret,
  changed: (app) => publishApp(ctx, app),
  ended: active,
});

/** @throws ServiceError `not_found`; `conflict`, reason `app_revoked` */
function active<App extends AppRow>(app: App | undefined): App {
  if (app === undefined) throw appUnknown();
  if (app.revokedAt !== null) throw appRevoked();
  return app;
}
