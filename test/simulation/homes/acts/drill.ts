import { WebhookKeeper } from "../../deliveries/acts/operator-webhooks.ts";
import { eraseWhole } from "../../erasure/acts/customer-keeper.ts";
import { eraseAroundPoint, eraseWhileClosing } from "../../erasure/acts/half-erasures.ts";
import type { Chance } from "../../machine/chance.ts";
import { EPOCH } from "../../machine/program.ts";
import { Operator } from "../../operators/acts/operator.ts";
import type { Home } from "../../world/cloud/home.ts";
import { WATCHED } from "../../world/cloud/new-database.ts";
import { type KnownApp, type KnownSite, LOST_SECRET } from "../../world/company.ts";
import { beAwake, inQuiet, rest } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import type { RestoredAnswer } from "../rules/restores.ts";
import { closeHomes, openHomes } from "./closed-in-calls.ts";
import { REACHED_EVERYWHERE_MS } from "./deployments.ts";
import { breakOff, changeTooEarly, makeUndoneChanges, silenceHome } from "./drill-troubles.ts";

const RECONCILE_TRIES = 30;

/** How many receipts one call takes. */
const MOST_RECEIPTS = 50;

/** How many ends of sites one call takes. */
const MOST_DELETIONS = 500;

type Divergent = Record<"appid" | "why", string>;

/**
 * docs/operating/data-and-restore.md, "Restoring a home": stores a restore point, makes changes, and restores the home to the point.
 * Often a second restore follows, to the same point or to a later one.
 */
export async function restoreDrill(operator: Operator, chance: Chance, home: Home): Promise<void> {
  const { world } = operator;
  const keep = () => {
    world.say(() => [undefined, `a point of ${home.name} is kept`]);
    return home.database.snapshot();
  };
  const sitesOfHome = () => world.company.sitesAtWork.filter((site) => site.home === home.name);
  const toErase = sitesOfHome().length > 0 && chance.happens(0.7) ? [chance.one(sitesOfHome())] : [];
  const endErasures = await inQuiet(world, () =>
    eraseAroundPoint(operator, toErase, (...args) => eraseWhole(operator, ...args)),
  );
  const points = [keep()];
  for (let timesLeft = isKeptElsewhere(world, home) ? chance.integer(1, 3) : 1; timesLeft > 0; timesLeft--) {
    await beAwake(world, chance.between(300, 2_500));
    await inQuiet(world, async () => {
      await makeUndoneChanges(operator, chance, home.name);
      await endErasures();
    });
    if (world.closing) return;
    // A second restore often goes to an older point than the first.
    const point = chance.happens(0.6) ? (points[0] as Uint8Array) : chance.one(points);
    if (points.length > 1 && point === points[0]) world.count("moment: restored again to the first point");
    points.push(keep());
    if (!(await inQuiet(world, () => restore(operator, chance, home, point)))) return;
    const isAgain = points.length > 2;
    if (home.name === "main") world.count(isAgain ? "restore of main again" : "restore of main");
    else world.count(isAgain ? "restore of a home again" : "restore of a home");
  }
}

/** Whether the new floors are stored outside the home: those of `main` only in KV, the others also in the directory. */
const isKeptElsewhere = ({ checker }: World, { name }: Home): boolean =>
  name !== "main" || checker.operators.records.isKept;

/** @returns false when the world closed before the restore was finished */
async function restore(operator: Operator, chance: Chance, home: Home, point: Uint8Array): Promise<boolean> {
  const { world } = operator;
  const { cloud, company, checker } = world;
  const { name } = home;

  const letGo = await eraseWhileClosing(
    operator,
    company.sitesAtWork.filter((site) => site.home === name),
  );
  company.underRestore.add(name);
  // This operator forgets to close the home first.
  if (chance.happens(0.3)) await operator.call("POST", `/homes/${name}/restored`, { settling_id: "too-early" });
  closeHomes(cloud, [name]);
  await world.sleep(chance.between(0, 3_000));
  letGo();
  await rest(world, REACHED_EVERYWHERE_MS);
  world.say(() => [undefined, `${name} is restored`]);
  home.restart();
  home.database.restore(point);
  checker.restored(home, WATCHED, Math.floor((EPOCH + world.scheduler.now) / 1000));
  // The new site must not get an id that the restore has undone.
  if (name === "main") await operator.call("POST", "/sites", { name: operator.newName("Too early") });
  if (chance.happens(0.5)) await changeTooEarly(operator, chance, name);
  if (chance.happens(0.3)) silenceHome(world, chance, name);
  if (chance.happens(0.75)) world.start(() => breakOff(world, chance.fork(), name));
  const reconciling = reconcile(operator, chance, name);
  // Another operator changes the same sites meanwhile.
  if (chance.happens(0.5)) await changeTooEarly(new Operator(world), chance, name);
  const body = await reconciling;
  if (body === undefined) return false;
  const divergent = await listDivergent(operator, name);

  if (name === "main") await forgetLostSites(company.sites, operator);
  const sites = company.sites.filter((site) => site.home === name);
  for (const site of sites) await endWhatWasEnded(operator, chance, site);
  await rest(world, Math.max(0, (body.reopen_after + 1) * 1000 - EPOCH - world.scheduler.now));
  openHomes(cloud, [name]);
  await rest(world, REACHED_EVERYWHERE_MS);
  for (const site of sites) await makeAnew(operator, site, divergent);
  // The new site must not get the id of a site that the restore has undone.
  if (name === "main") await operator.insist("POST", "/sites", { name: operator.newName("Anew") });
  for (const site of company.sites) await operator.setSite(site, { status: "open" });
  if (cloud.settings.masterKeyPrevious !== undefined) await operator.insist("POST", "/reseal");
  company.underRestore.delete(name);
  return true;
}

/** Repeats the call until the home is reconciled, no other home is missing, and all erasures are done again. */
async function reconcile(operator: Operator, chance: Chance, home: string): Promise<RestoredAnswer | undefined> {
  const { world } = operator;
  const settling_id = `settling-${Math.floor(world.scheduler.now)}`;
  const receipts = [...world.company.receipts].map((json) => JSON.parse(json) as object);
  for (let i = 0, from = 0; i < RECONCILE_TRIES && !world.closing; i++) {
    const pastedReceipts = receipts.length > 0 ? { receipts: receipts.slice(from, from + MOST_RECEIPTS) } : {};
    const siteEnds = [...world.company.deletions].slice(0, MOST_DELETIONS).map((json) => JSON.parse(json) as object);
    const deletions = siteEnds.length > 0 ? { deletions: siteEnds } : {};
    const reconciliation = { settling_id, ...pastedReceipts, ...deletions };
    const first = i === 0 ? await operator.call("POST", `/homes/${home}/restored`, reconciliation) : undefined;
    // No site is made while the directory is under restore.
    if (i === 0 && home !== "main" && !world.company.underRestore.has("main") && chance.happens(0.8)) {
      if ((await operator.found(home)) !== undefined) {
        world.count("moment: site made between two calls of a settling");
      }
      continue;
    }
    const answer = first ?? (await operator.insist("POST", `/homes/${home}/restored`, reconciliation));
    if (answer?.status !== 200) continue;
    const body = JSON.parse(answer.body) as RestoredAnswer;
    if (body.homes_down.length > 0 || body.erasures_left > 0) continue;
    from += MOST_RECEIPTS;
    if (from >= receipts.length) return body;
  }
  return undefined;
}

async function listDivergent(operator: Operator, home: string): Promise<Divergent[]> {
  const answer = await operator.insist("GET", `/homes/${home}/divergent?limit=100`);
  return answer?.status === 200 ? (JSON.parse(answer.body) as { items: Divergent[] }).items : [];
}

/**
 * Forgets the sites that are lost: those of `main` that the restore has undone, and those that their home has lost too.
 */
async function forgetLostSites(sites: KnownSite[], operator: Operator): Promise<void> {
  const answer = await operator.insist("GET", "/sites?limit=100");
  if (answer?.status !== 200) return;
  const { items } = JSON.parse(answer.body) as { items: { id: number; home: string }[] };
  for (const site of [...sites]) {
    if (items.some(({ id, home }) => id === site.siteId && home === site.home)) continue;
    for (const app of site.apps) app.isRevoked = true;
    sites.splice(sites.indexOf(site), 1);
  }
}

/** Repeats revocations and rotations that the restore has undone, as far as the operator remembers them. */
async function endWhatWasEnded(operator: Operator, chance: Chance, site: KnownSite): Promise<void> {
  const apps = (await operator.listApps(site)) ?? [];
  for (const { appid, version, revoked_at } of apps) {
    const app = site.apps.find((each) => each.appid === appid);
    if (app === undefined || revoked_at !== null) continue;
    if (app.isRevoked) await operator.revoke(app);
    else if (app.secrets.at(-1)?.version !== version) await rotateAgain(operator, chance, app, version);
  }
}

async function rotateAgain(operator: Operator, chance: Chance, app: KnownApp, version: string): Promise<void> {
  const before = app.secrets.find((each) => each.version === version);
  app.secrets.push(before ?? { version, secret: LOST_SECRET });
  await operator.rotate(app, chance.one([0, 60]));
}

/** Issues the missing apps again, and adds the missing agents. */
async function makeAnew(operator: Operator, site: KnownSite, divergent: Divergent[]): Promise<void> {
  const apps = await operator.listApps(site);
  if (apps === undefined) return;
  for (const app of [...site.apps]) {
    if (app.isRevoked || apps.some(({ appid }) => appid === app.appid)) continue;
    if (divergent.some(({ appid, why }) => appid === app.appid && why !== "missing")) continue;
    site.apps.splice(site.apps.indexOf(app), 1);
    const newApp = await operator.issueApp(site, { appid: app.appid, secret: app.secrets.at(-1)?.secret ?? "" });
    app.isRevoked = newApp === undefined;
    if (newApp !== undefined) {
      site.apps.splice(site.apps.indexOf(newApp), 1, app);
      app.secrets.push(...newApp.secrets);
    }
  }
  for (const id of site.agentIds) {
    await operator.insist("POST", `/sites/${site.siteId}/agents`, { id, name: `Agent ${id}` });
  }
  await new WebhookKeeper(operator).reconcile(site);
}
