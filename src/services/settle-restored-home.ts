import * as z from "zod/mini";
import { homeDatabase, MAIN_HOME } from "../config.ts";
import { NONCE_SECONDS } from "../replay/kv-nonces.ts";
import { copyHomeToDirectory, copySitesToHome, liftFloors } from "../store/reconcile.ts";
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
}

/**
 * Makes a home that D1's Time Travel took back fit for use: gives it back the sites that it lost, lifts the chat ids of every site, and
 * lists the apps whose restored row says less than KV. Of the directory, it also brings back the sites and routes of the other homes.
 * Close the home first, and open it at `reopenAfter`. Sent again it lifts again, which only skips more ids.
 *
 * @throws ServiceError `not_found` for an unknown home; `unavailable` when a database or KV does not answer, and then nothing was lifted
 */
export async function settleRestoredHome(
  ctx: ServiceContext,
  { home, lift }: { home: string; lift: number },
): Promise<RestoredHome> {
  const { directory, homes } = ctx.config;
  if (!homes.has(home)) throw homeUnknown();
  const db = homeDatabase(ctx.config, home);
  if (home !== MAIN_HOME) await copySitesToHome(directory, home, db);
  else {
    for (const [name, other] of homes) if (name !== MAIN_HOME) await copyHomeToDirectory(directory, name, other);
  }
  const doubtful = await listDoubtfulApps(ctx, { home });
  const sites = await liftFloors(db, home, lift, authorOf(ctx));
  return { sites, liftedBy: lift, reopenAfter: ctx.now + NONCE_SECONDS, apps: doubtful };
}
