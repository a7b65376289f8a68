import { readRecords } from "../../core/credentials/kv-records.ts";
import type { Site } from "../store/directory/sites.ts";
import { selectFirstApps } from "../store/home/apps.ts";
import { homeOf, publishApp, type ServiceContext } from "./service-context.ts";

/** The most apps of a site that are put at once. The record of a further app is put by the first call that the gate refuses for it. */
const MOST_PUT = 100;

/**
 * Corrects, after the answer, what the records of a site's apps in KV say of its events. A record that differs in anything else stays:
 * KV may know of a rotation or a revocation that a restore has undone, and the list of divergent apps is made from that.
 */
export function publishAppsOf(ctx: ServiceContext, site: Site): void {
  const put = async () => {
    const apps = await selectFirstApps(homeOf(ctx, site), site.id, MOST_PUT);
    const appids = apps.map(({ appid }) => appid);
    const records = await readRecords(ctx.config.credentials, appids);
    for (const { name, ...app } of apps) {
      const { version, revokedAt, events } = records.get(app.appid) ?? {};
      const isAsBefore = version === app.version && revokedAt === app.revokedAt;
      if (isAsBefore && events !== app.events) publishApp(ctx, { ...app, home: site.home });
    }
  };
  // The change is made. A record that is not put is refused by the gate, and then put.
  ctx.waitUntil(put().catch(() => {}));
}
