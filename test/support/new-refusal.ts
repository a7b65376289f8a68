import type { Refusal } from "../../src/operators/services/journal.ts";
import { insertRefusals } from "../../src/operators/store/home/refusals.ts";
import { databaseOf } from "./homes.ts";
import type { Site } from "./new-site.ts";
import { NOW } from "./test-runtime.ts";

/** Stores a refused call of the site's app in the journal. */
export async function newRefusal(site: Site, fields: Partial<Refusal> = {}): Promise<Refusal> {
  const { siteId, appid, home } = site;
  const refusal: Refusal = {
    siteId,
    appid,
    requestId: crypto.randomUUID(),
    at: NOW,
    operation: "create_session",
    status: 401,
    reason: "timestamp_stale",
    detail: null,
    violations: null,
    secret: null,
    client: "192.0.2.0/24",
    skipped: 0,
    drill: null,
    ...fields,
  };
  const db = databaseOf(home);
  await insertRefusals(db, [refusal]);
  return refusal;
}
