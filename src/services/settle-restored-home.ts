import * as z from "zod/mini";
import { MAIN_HOME } from "../homes.ts";
import { NONCE_SECONDS } from "../replay/kv-nonces.ts";
import { auditRestore, copyHomeToDirectory, copySitesToHome, liftFloors } from "../store/reconcile.ts";
import { isUnavailable } from "./ask-homes.ts";
import { type DoubtfulApp, listDoubtfulApps } from "./list-doubtful-apps.ts";
import { homeUnknown } from "./refusals.ts";
import { authorOf, type ServiceContext } from "./service-context.ts";

const LIFT_RULE = "must be an integer from 1 to 1000000000";

/** Body of POST /admin/homes/:name/restored. */
export const restoredSchema = z.strictObject({
  lift: z._default(z.int(LIFT_RULE).check(z.minimum(1, LIFT_RULE), z.maximum(1_000_000_000, LIFT_RULE)), 1_000_000),
});

export interface RestoredHome {
  /** How many sites the home has. */
  sites: number;
  /** How many chat ids each of them skips. */
  liftedBy: number;
  /** Unix seconds. By then every ranstr that was used before has expired, so none of the undone requests can be sent again. */
  reopenAfter: number;
  /** Apps to look at before the home is opened. */
  apps: DoubtfulApp[];
  /** Of a restored directory: homes that do not answer. Their sites and routes are not back: do not open `main`, and send it again. */
  homesDown: string[];
}

/**
 * Makes a home that D1's Time Travel took back fit for use: lifts the chat ids of every site, gives the home back the sites that it
 * lost, and lists the apps to look at. Of the directory, it also brings back the sites and routes of the other homes. Close the home
 * first, and open it at `reopenAfter`. Sent again it lifts again, which only skips more ids.
 *
 * @throws ServiceError `not_found` for an unknown home; `unavailable` when the directory, the home or KV does not answer
 */
export async function settleRestoredHome(
  ctx: ServiceContext,
  { home, lift }: { home: string; lift: number },
): Promise<RestoredHome> {
  const { directory, homes } = ctx.config;
  const db = homes.get(home);
  if (db === undefined) throw homeUnknown();
  const down: string[] = [];
  if (home !== MAIN_HOME) await copySitesToHome(directory, home, db);
  // Lifted before anything that can take long: the list of apps can be made again.
  const sites = await liftFloors(db, lift);
  await auditRestore(directory, home, lift, authorOf(ctx));
  for (const [name, other] of home === MAIN_HOME ? homes : []) {
    if (name === MAIN_HOME) continue;
    try {
      await copyHomeToDirectory(directory, name, other);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      down.push(name);
    }
  }
  const { apps, homesDown } = await listDoubtfulApps(ctx, { home });
  const silent = [...new Set([...down, ...homesDown])];
  return { sites, liftedBy: lift, reopenAfter: ctx.now + NONCE_SECONDS, apps, homesDown: silent };
}
