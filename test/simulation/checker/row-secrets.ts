import type { Row } from "../platform/database.ts";
import type { Settings } from "../world/cloud/settings.ts";
import { openSeal } from "./seals.ts";

/** The secret in one slot of a row; undefined when its seal does not open for this owner. */
export function secretIn(settings: Settings, row: Row, slot: "current" | "previous"): string | undefined {
  const [version, seal] = slot === "current" ? [row.version, row.secret] : [row.previous_version, row.previous_secret];
  // The blank keeps the seals of apps and webhooks apart, because no appid contains one.
  const appid = "appid" in row ? String(row.appid) : `webhook ${row.id}`;
  return openSeal(settings, { siteId: Number(row.site_id), appid, version: String(version), slot }, String(seal));
}
