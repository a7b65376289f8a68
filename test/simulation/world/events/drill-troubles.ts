import type { Chance } from "../../machine/chance.ts";
import type { Home } from "../cloud/home.ts";
import type { KnownSite } from "../people/company.ts";
import type { Operator } from "../people/operator.ts";
import { SiteKeeper } from "../people/site-keeper.ts";
import { actOnWebhooks } from "../people/webhook-day.ts";
import type { World } from "../world.ts";

/** Changes and faults between the steps of a restore drill. */

/** Changes between the restore point and the restore, by their weights. */
export const DAY_BEFORE = { issue: 3, found: 2, rotate: 3, revoke: 1, floor: 2, rename: 1, told: 3, retain: 3, end: 6 };

/**
 * Makes changes that the restore will undo: above all changes that an operator must repeat, and changes that only the
 * directory or only the home knows.
 */
export async function liveOn(world: World, operator: Operator, chance: Chance, home: string): Promise<void> {
  const { company } = world;
  await world.sleep(chance.between(0, 10_000));
  for (let i = chance.integer(1, 4); i > 0; i--) {
    // When `main` is restored, the other homes give back what it has lost.
    const sites = company.sitesAtWork.filter((site) => site.home === home || home === "main");
    if (sites.length === 0) return;
    const site = chance.one(sites);
    const app = site.apps.find(({ revoked }) => !revoked);
    const withoutApp = app === undefined ? { rotate: 0, revoke: 0 } : {};
    const act = chance.weighted({ ...DAY_BEFORE, ...withoutApp, ...(world.weather.events > 0 ? {} : { told: 0 }) });
    world.count(`before a restore: ${act}`);
    switch (act) {
      case "issue":
        await operator.issueApp(site);
        break;
      case "found":
        await operator.found(chance.happens(0.5) ? home : site.home);
        break;
      case "rotate":
        if (app !== undefined) await operator.rotate(app, chance.one([0, 600]));
        break;
      case "revoke":
        if (app !== undefined) await operator.revoke(app);
        break;
      case "floor":
        await operator.setSite(site, { first_chat_id: Math.max(0, ...site.chatIds) + chance.integer(2, 900) });
        break;
      case "told":
        await actOnWebhooks(operator, site, chance.one(["addWebhook", "rotateWebhook", "deleteWebhook", "ping"]));
        break;
      case "retain":
        await new SiteKeeper(operator).retain(site);
        break;
      case "end":
        await new SiteKeeper(operator).end(site);
        break;
      case "rename":
        await operator.setSite(site, { name: `Site ${site.siteId} of now`, status: chance.one(["open", "closed"]) });
        break;
    }
    await world.sleep(chance.between(0, 5_000));
  }
}

/** Changes sites of a restored home before it is reconciled. Sometimes the directory does not receive the change. */
export async function changeTooEarly(operator: Operator, chance: Chance, home: string): Promise<void> {
  const { world } = operator;
  const sites = world.company.sites.filter((site) => site.home === home);
  if (home !== "main" && chance.happens(0.5)) {
    await Promise.all(sites.map((site) => changeUnheard(operator, chance, site)));
    return;
  }
  for (const site of chance.some(sites, 0.7)) {
    const name = `Site ${site.siteId} before settling`;
    await operator.setSite(site, chance.one([{ name }, { status: "open" }, { status: "closed" }, { events: true }]));
    if (chance.happens(0.3)) await operator.setSite(site, { name });
  }
}

/** The directory becomes silent while a site of the home is changed, and the operator gives up. */
async function changeUnheard(operator: Operator, chance: Chance, { siteId }: KnownSite): Promise<void> {
  const { world } = operator;
  const directory = world.cloud.home("main");
  const setAfter = (milliseconds: number, state: Home["state"]) =>
    world.scheduler.after(milliseconds, () => {
      directory.state = state;
    });
  setAfter(chance.between(10, 45), "refusing");
  setAfter(chance.between(1_000, 5_000), "up");
  const change = chance.one([{ name: `Site ${siteId} unheard of` }, { status: chance.one(["open", "closed"]) }]);
  await operator.call("PATCH", `/sites/${siteId}`, change);
}

/** Another home becomes silent while this one is reconciled. */
export function silence(world: World, chance: Chance, name: string): void {
  const others = [...world.cloud.homes.values()].filter((home) => home.name !== name);
  if (others.length === 0) return;
  const home = chance.one(others);
  home.state = chance.one(["refusing", "silent", "slow"]);
  world.scheduler.after(chance.between(3_000, 15_000), () => {
    home.state = "up";
  });
}
