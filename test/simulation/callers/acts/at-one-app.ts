import { keepCall, nthWrite } from "../../erasure/acts/kept-calls.ts";
import { Operator } from "../../operators/acts/operator.ts";
import type { KnownApp } from "../../world/company.ts";
import { pause } from "../../world/day.ts";
import { type MomentEvent, type OnItsWay, oneAtATime } from "../../world/moments.ts";
import type { World } from "../../world/world.ts";

/**
 * Two operators work at one app or at one appid. Their calls go to D1 one query at a time, in a random order, so they
 * meet at each step between the directory and the home.
 */
export async function meetAtOneApp(world: World): Promise<void> {
  const chance = world.chance.fork();
  const both: [Operator, Operator] = [new Operator(world), new Operator(world)];
  both[0].gate = both[1].gate = oneAtATime(world, both[0].chance.fork());
  while (!world.closing) {
    await pause(world, chance, chance.between(300, 3_000));
    const sites = world.company.sitesAtWork;
    if (sites.length === 0 || world.closing) continue;
    const site = chance.one(sites);
    const app = site.apps.find(({ isRevoked }) => !isRevoked);
    if (app === undefined || chance.happens(0.5)) await issueAndRelease(both, site.siteId);
    else await rotateAndEnd(both, app);
  }
}

/** One operator issues an app, and the other releases its appid as soon as it is reserved. */
async function issueAndRelease([one, other]: [Operator, Operator], siteId: number): Promise<void> {
  const { world, chance } = one;
  const appid = `kept-${chance.uuid()}`;
  const isReserved = (at: MomentEvent) =>
    at.kind === "commits" && at.changes.some(({ table, after }) => table === "app_routes" && after?.appid === appid);
  const moment = world.moments.when((at) => isReserved(at) || undefined, 5_000);
  const answer = one.call("POST", `/sites/${siteId}/apps`, { name: "Shop", appid });
  if (await moment) world.count("moment: appid released while it is issued");
  await Promise.all([answer, other.call("DELETE", `/apps/${appid}`)]);
  await other.call("DELETE", `/apps/${appid}`);
}

/** In an overlap, one operator rotates the secret once more. The other ends the overlap or rotates too. */
async function rotateAndEnd([one, other]: [Operator, Operator], app: KnownApp): Promise<void> {
  const { world, chance } = one;
  await one.rotate(app, 600);
  const rotate = () => one.rotate(app, 600, chance.one(["current", "current", "previous"]));
  const keptCall = await keepCall(world, nthWrite("POST", `/apps/${app.appid}/rotate`, 1, "there"), rotate);
  if (keptCall === undefined) return;
  world.count("moment: rotation while the overlap is ended");
  await changeApp(other, app);
  keptCall.letGo();
  await keptCall.end;
}

/** One operator re-seals secrets. Another changes them when they are sealed anew and not stored yet. */
export async function resealAtAChange(world: World, apps: KnownApp[]): Promise<void> {
  const operator = new Operator(world);
  const isStoring = ({ way, home, method, call }: OnItsWay) =>
    way === "there" &&
    method === "batch" &&
    call.wire.path === "/admin/reseal" &&
    apps.some(({ site }) => site.home === home);
  const keptCall = await keepCall(world, isStoring, () => operator.call("POST", "/reseal"));
  if (keptCall === undefined) return;
  world.count("moment: secret changed while it is re-sealed");
  await Promise.all(apps.map((app) => changeApp(operator, app)));
  keptCall.letGo();
  await keptCall.end;
}

const changeApp = (operator: Operator, app: KnownApp): Promise<void> =>
  operator.chance.happens(0.7) ? operator.endOverlap(app) : operator.rotate(app, operator.chance.one([0, 600]));
