import type { Site } from "../store/directory/sites.ts";
import { selectFirstApps } from "../store/home/apps.ts";
import { homeOf, publishApp, type ServiceContext } from "./service-context.ts";

/** The most apps of a site that are put at once. The record of a further app is put by the first call that the gate refuses for it. */
const MOST_PUT = 100;

/** Puts the apps of a site into the caches after the answer, because their records say whether the site has events. */
export function publishAppsOf(ctx: ServiceContext, site: Site): void {
  const put = async () => {
    for (const { name, ...app } of await selectFirstApps(homeOf(ctx, site), site.id, MOST_PUT)) {
      if (app.revokedAt === null) publishApp(ctx, { ...app, home: site.home });
    }
  };
  // The change is made. A record that is not put is refused by the gate, and then put.
  ctx.waitUntil(put().catch(() => {}));
}
