import { isRefusedFor } from "../errors.ts";
import { releaseApp } from "./release-app.ts";
import { revokeApp } from "./revoke-app.ts";
import type { ServiceContext } from "./service-context.ts";

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
