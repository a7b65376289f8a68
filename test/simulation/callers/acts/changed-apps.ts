import type { Call } from "../../world/call.ts";
import { type KnownApp, LOST_SECRET } from "../../world/company.ts";
import type { MomentEvent } from "../../world/moments.ts";
import type { World } from "../../world/world.ts";
import { SimpleCaller } from "./signed.ts";

/** Milliseconds for a call of an operator, with all of its tries. */
const CALL_MS = 12_000;

/** The apps whose records an operator's call changes, as far as the company knows them. */
function appsOf({ company }: World, { role, wire }: Call): KnownApp[] {
  if (role !== "operator" || wire.method === "GET") return [];
  const [, appid] = /^\/admin\/apps\/([^/]+)/.exec(wire.path) ?? [];
  if (appid !== undefined) return company.apps.filter((app) => app.appid === appid);
  const [, siteId] = /^\/admin\/sites\/(\d+)$/.exec(wire.path) ?? [];
  // Whether a site has events is part of its apps' records.
  const changesAll = wire.method === "DELETE" || wire.body.includes('"events"');
  return changesAll ? company.apps.filter(({ site }) => site.siteId === Number(siteId)) : [];
}

const newest = ({ secrets }: KnownApp): string | undefined =>
  secrets.findLast(({ secret }) => secret !== LOST_SECRET)?.secret;

/**
 * Calls of an app meet a change of its record at each edge: before the change, together with a forgery from another
 * address; when the change is stored; and right after it, with the old secret and with the new one.
 */
export function callAtChanges(world: World): void {
  const chance = world.chance.fork();
  const share = chance.one([0.3, 0.7]);
  world.moments.always((happening) => {
    if (happening.kind !== "arrives" || world.closing || !chance.happens(share)) return;
    const [app] = appsOf(world, happening.call);
    if (app !== undefined) world.start(() => meet(app, happening.call));
  });

  async function meet(app: KnownApp, change: Call): Promise<void> {
    const [caller, forger] = [new SimpleCaller(world, chance.fork()), new SimpleCaller(world, chance.fork())];
    const old = newest(app);
    const isOfApps = (at: MomentEvent) =>
      at.kind === "commits" &&
      at.call === change &&
      at.changes.some(({ table }) => table === "apps" || table === "home_sites");
    const commit = world.moments.when((at) => isOfApps(at) || undefined, CALL_MS);
    const isLast = (at: MomentEvent) => (at.kind === "answers" || at.kind === "ends") && at.call === change;
    const answer = world.moments.when((at) => isLast(at) || undefined, CALL_MS);
    void caller.sendEverywhere(app, old);
    if (chance.happens(0.5)) void forger.sendEverywhere(app, "forged");
    const isStored = (await commit) === true;
    if (isStored) world.count("moment: calls of an app whose record changes");
    // A stale timestamp is refused before the batch. Only the owner of a valid secret may learn the reason.
    const stale = chance.happens(0.5) ? { timestamp: world.clock - 5_000 } : {};
    if (isStored && chance.happens(0.7)) await caller.sendEverywhere(app, old, stale);
    await answer;
    // The operator gets the new secret over the network.
    await world.sleep(chance.between(50, 400));
    await caller.sendEverywhere(app, newest(app));
  }
}
