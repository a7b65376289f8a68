import { ServiceError } from "../errors.ts";
import type { Site } from "../store/directory/sites.ts";
import { selectApp } from "../store/home/apps.ts";
import { appRevoked, appUnknown } from "./refusals.ts";
import { openSecret } from "./secrets.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/**
 * The secret of an app in clear text, for the operator who has just made it.
 *
 * @param input `version` of the wanted secret, so that a newer secret of another operator is not shown
 * @throws ServiceError `not_found`; `conflict`, reason `app_revoked` or `version_other`; `internal` when MASTER_KEY does not open it
 */
export async function readSecret(
  ctx: ServiceContext,
  { site, appid, version }: { site: Site; appid: string; version: string },
): Promise<string> {
  const app = await selectApp(ctx.runtime, homeOf(ctx, site), { siteId: site.id, appid });
  if (app === undefined) throw appUnknown();
  if (app.revokedAt !== null) throw appRevoked();
  if (app.version !== version) throw new ServiceError("conflict", { reason: "version_other" });
  return openSecret(ctx, app, "current", app.secret);
}
