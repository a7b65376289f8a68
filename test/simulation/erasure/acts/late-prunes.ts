import type { Operator } from "../../operators/acts/operator.ts";
import type { KnownSite } from "../../world/company.ts";
import { PRUNE_CRON, triggerCron } from "../../world/cron.ts";
import type { OnItsWay } from "../../world/moments.ts";
import { type KeptCall, keepCall } from "./kept-calls.ts";

/** Holds a run of the cron job that has found old sessions: before it deletes them, or before it learns that they are deleted. */
function keepRun({ world, chance }: Operator, site: KnownSite, end: OnItsWay["way"]): Promise<KeptCall | undefined> {
  const isRemoval = ({ way, home, method, call: { role, trips } }: OnItsWay) => {
    const [events, customers] = trips.slice(-3);
    const hasFound = events?.to === `${home} all` && customers?.to === `${home} raw`;
    return role === "cron" && way === end && home === site.home && method === "batch" && hasFound;
  };
  return keepCall(world, isRemoval, () => triggerCron(world, PRUNE_CRON, chance.one(world.weather.edges)));
}

/** Lengthens a site's retention while a run is about to delete some of its sessions. */
export async function lengthenWhilePruned(operator: Operator, site: KnownSite): Promise<void> {
  const { world, chance } = operator;
  const keptCall = await keepRun(operator, site, "there");
  if (keptCall === undefined) return;
  const answer = await operator.call("PATCH", `/sites/${site.siteId}`, { retention_days: chance.one([null, 30, 30]) });
  if (answer?.status === 200) world.count("moment: a site keeps its sessions for longer while a run goes on");
  keptCall.letGo();
  await keptCall.end;
}

/** Ends a run of the cron job after it has deleted some sessions. */
export async function stopWhilePruned(operator: Operator, site: KnownSite): Promise<void> {
  const { world } = operator;
  const keptCall = await keepRun(operator, site, "back");
  if (keptCall === undefined) return;
  world.count("moment: a run dies between two batches");
  world.cloud.cutOff(keptCall.call);
  keptCall.letGo();
}
