import { actOnWebhooks } from "../../deliveries/acts/webhook-day.ts";
import { SiteKeeper } from "../../erasure/acts/site-keeper.ts";
import type { Chance } from "../../machine/chance.ts";
import type { Operator } from "../../operators/acts/operator.ts";
import type { RowChange } from "../../platform/database.ts";
import type { Home } from "../../world/cloud/home.ts";
import type { KnownApp, KnownSite } from "../../world/company.ts";
import type { World } from "../../world/world.ts";

/** Changes and faults between the steps of a restore drill. */

/** Changes between the restore point and the restore, with their weights. */
export const DAY_BEFORE = {
  issue: 4,
  found: 3,
  rotate: 2,
  revoke: 1,
  forget: 3,
  floor: 2,
  close: 5,
  told: 3,
  retain: 3,
  end: 5,
};

/** Sites that were closed after the point of a restore. */
const closedBefore = new WeakSet<KnownSite>();

/** What a change in {@link CHANGES} may need. */
interface DrillDay {
  operator: Operator;
  chance: Chance;
  home: string;
  site: KnownSite;
  /** An app of the site that is in use. */
  app: KnownApp | undefined;
}

const CHANGES: Record<keyof typeof DAY_BEFORE, (day: DrillDay) => unknown> = {
  issue: ({ operator, site }) => operator.issueApp(site),
  found: ({ operator, chance, home, site }) => makeUnknownSite(operator, chance.happens(0.7) ? home : site.home),
  rotate: ({ operator, chance, app }) => app && operator.rotate(app, chance.one([0, 600])),
  revoke: ({ operator, app }) => app && operator.revoke(app),
  // The operator does not repeat this revocation after the restore. Then only caches say that the app is revoked.
  forget: ({ operator, site, app }) => app && site.apps.length > 1 && operator.call("DELETE", `/apps/${app.appid}`),
  floor: ({ operator, chance, site }) =>
    operator.setSite(site, { first_chat_id: Math.max(0, ...site.chatIds) + chance.integer(2, 900) }),
  told: ({ operator, chance, site }) =>
    actOnWebhooks(operator, site, chance.one(["addWebhook", "rotateWebhook", "deleteWebhook", "ping"])),
  retain: ({ operator, site }) => new SiteKeeper(operator).retain(site),
  end: ({ operator, site }) => new SiteKeeper(operator).end(site),
  async close({ operator, site }) {
    await operator.setSite(site, { name: `Site ${site.siteId} of now`, status: "closed" });
    closedBefore.add(site);
  },
};

/** Makes a site of which neither KV nor the operator learns, because its isolate ends as soon as the site is open. */
async function makeUnknownSite(operator: Operator, home: string): Promise<void> {
  const { world } = operator;
  const isOpen = ({ table, after }: RowChange) => table === "sites" && after?.status === "open";
  const moment = world.moments.when((at) =>
    at.kind === "commits" && at.call === operator.latest && at.changes.some(isOpen) ? at.call : undefined,
  );
  const answer = operator.call("POST", "/sites", { name: operator.newName("Unheard"), home });
  const call = await Promise.race([moment, answer.then(() => undefined)]);
  if (call?.isolate === undefined) return;
  world.cloud.kill(call.isolate);
  world.count("moment: site made of which KV does not hear");
}

/**
 * Makes changes that the restore will undo. Most of them are still known to the directory or the home, or an operator repeats them.
 */
export async function makeUndoneChanges(operator: Operator, chance: Chance, home: string): Promise<void> {
  const { world } = operator;
  // Changes that only the directory or only another home still knows after the restore.
  const firsts: (keyof typeof DAY_BEFORE)[] = chance.some(home === "main" ? ["issue", "found"] : ["close"], 0.8);
  for (let i = chance.integer(2, 3); i > 0; i--) {
    // When `main` is restored, the other homes give back what it has lost.
    const sites = world.company.sitesAtWork.filter((site) => site.home === home || home === "main");
    if (sites.length === 0) return;
    const first = firsts.shift();
    const others = sites.filter((site) => site.home !== home);
    const site = chance.one(first === "issue" && others.length > 0 ? others : sites);
    const app = site.apps.find(({ isRevoked }) => !isRevoked);
    const withoutApp = app === undefined ? { rotate: 0, revoke: 0, forget: 0 } : {};
    const withoutEvents = world.weather.events > 0 ? {} : { told: 0 };
    const act = first ?? chance.weighted({ ...DAY_BEFORE, ...withoutApp, ...withoutEvents });
    world.count(`before a restore: ${act}`);
    await CHANGES[act]({ operator, chance, home, site, app });
    await world.sleep(chance.between(0, 3_000));
  }
}

/** Changes sites of a restored home before it is reconciled. Sometimes the directory does not receive the change. */
export async function changeTooEarly(operator: Operator, chance: Chance, home: string): Promise<void> {
  const { world } = operator;
  const sites = world.company.sites.filter((site) => site.home === home);
  if (home !== "main" && chance.happens(0.4)) {
    await Promise.all(sites.map((site) => changeWithoutDirectory(operator, chance, site)));
    return;
  }
  for (const site of sites.filter((each) => closedBefore.has(each) || chance.happens(0.7))) {
    const name = `Site ${site.siteId} before settling`;
    const first_chat_id = Math.max(0, ...site.chatIds) + chance.integer(2, 900);
    // The fields that the change does not name must come from the directory.
    const others = closedBefore.has(site)
      ? [{ name }, { first_chat_id }]
      : [{ name }, { status: "open" as const }, { status: "closed" as const }, { events: true }, { first_chat_id }];
    await operator.setSite(site, chance.one(others));
    if (closedBefore.has(site)) world.count("moment: site changed that was closed before the restore");
    if (chance.happens(0.3)) await operator.setSite(site, { name });
  }
}

/** Changes a site of the home while the directory fails, so that the directory does not get the change. */
async function changeWithoutDirectory(operator: Operator, chance: Chance, { siteId }: KnownSite): Promise<void> {
  const { world } = operator;
  const directory = world.cloud.home("main");
  setAfter(world, chance.between(10, 45), directory, "refusing");
  setAfter(world, chance.between(1_000, 5_000), directory, "up");
  const change = chance.one([{ name: `Site ${siteId} unheard of` }, { status: chance.one(["open", "closed"]) }]);
  await operator.call("PATCH", `/sites/${siteId}`, change);
}

/** Lets another home fail while this home is reconciled. */
export function silenceHome(world: World, chance: Chance, name: string): void {
  const others = [...world.cloud.homes.values()].filter((home) => home.name !== name);
  if (others.length === 0) return;
  const home = chance.one(others);
  home.state = chance.one(["refusing", "silent", "slow"]);
  setAfter(world, chance.between(3_000, 15_000), home, "up");
}

const setAfter = ({ scheduler }: World, milliseconds: number, home: Home, state: Home["state"]) =>
  scheduler.after(milliseconds, () => {
    home.state = state;
  });

/**
 * Breaks a settling off: after some of its requests to one database, holds all further ones until the call is answered.
 * Sometimes the held requests are done after that.
 */
export async function breakOff(world: World, chance: Chance, name: string): Promise<void> {
  const { moments, cloud } = world;
  const path = `/admin/homes/${name}/restored`;
  const call = await moments.whenArrives(({ wire }) => wire.path === path);
  // So it breaks off between two homes, or between the sites and the routes of one home.
  const homes = [...cloud.homes.keys()].filter((each) => name !== "main" || each !== "main");
  const home = chance.one(homes.length > 0 ? homes : ["main"]);
  const from = name === "main" ? chance.one([0, 1, 1, 1, 2]) : chance.integer(1, 6);
  const { onHold, letGo } = moments.keep((trip) => trip.call === call && trip.home === home && trip.nth > from, true);
  const over = moments.when((at) => (at.kind === "answers" && at.call === call ? call : undefined)).then(() => false);
  const isBroken = await Promise.race([onHold.then(() => true), over, world.sleep(60_000).then(() => false)]);
  if (isBroken) world.count("moment: settling broken off");
  if (isBroken && call?.isolate !== undefined && chance.happens(0.6)) cloud.kill(call.isolate);
  await Promise.race([over, world.sleep(20_000)]);
  letGo();
}
