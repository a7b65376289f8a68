import { env } from "cloudflare:workers";
import { databaseOf } from "./homes.ts";
import type { World } from "./world.ts";

/** Puts an app's record, as D1 has it, into KV with some fields replaced. */
export async function forgeRecord(world: World, change: Record<string, unknown>): Promise<void> {
  const row = await databaseOf(world.home)
    .prepare("SELECT * FROM apps WHERE appid = ?")
    .bind(world.appid)
    .first<Record<string, unknown>>();
  const record = {
    appid: world.appid,
    siteId: world.siteId,
    home: world.home,
    version: row?.version,
    secret: row?.secret,
    previousVersion: row?.previous_version,
    previousSecret: row?.previous_secret,
    previousExpiresAt: row?.previous_expires_at,
    revokedAt: row?.revoked_at,
  };
  await env.CREDENTIALS.put(`app:${world.appid}`, JSON.stringify({ ...record, ...change }));
}
