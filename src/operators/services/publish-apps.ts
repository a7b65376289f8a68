import { readRecords } from "../../core/credentials/kv-records.ts";
import type { Site } from "../store/directory/sites.ts";
import { selectFirstApps } from "../store/home/apps.ts";
import { homeOf, publishApp, type ServiceContext } from "./service-context.ts";

/** The most apps of a site whose records are written at once. Any other record is written when the gate refuses its first call. */
const MOST_PUT = 100;

/**
 * Corrects the records of a site's apps in KV after the answer: whether the site has events. A record that differs in anything else is not
 * changed: KV may know of a rotation or a revocation that a restore has undone, and the list of divergent apps needs that.
 */
export function publishAppsOf(ctx: ServiceContext, site: Site): void {
  const putRecord = async () => {
    const apps = await selectFirstApps(homeOf(ctx, site), site.id, MOST_PUT);
    const appids = apps.map(({ appid }) => appid);
    const records = await readRecords(ctx.config.credentials, appids);
    for (const { name, ...app } of apps) {
      const { version, revokedAt, events } = records.get(app.appid) ?? {};
      const isAsBefore = version === app.version && revokedAt === app.revokedAt;
      if (isAsBefore && events !== app.events) publishApp(ctx, { ...app, home: site.home });
    }
  };
  // The change is made in any case. When a record is not written here, the gate refuses it, and then it is written.
  ctx.waitUntil(putRecord().catch(() => {}));
}
