import { resealAtAChange } from "../../callers/acts/at-one-app.ts";
import { loseNextCommit } from "../../callers/acts/lost-commits.ts";
import type { Chance } from "../../machine/chance.ts";
import { Operator } from "../../operators/acts/operator.ts";
import { newMasterKey, type Settings } from "../../world/cloud/settings.ts";
import { pause, rest } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { closeHomes, openHomes } from "./closed-in-calls.ts";
import { restoreDrill } from "./drill.ts";

/** Milliseconds after a deployment until no earlier isolate serves and all of its work has ended. */
export const REACHED_EVERYWHERE_MS = 60_000;
const NIGHT_MS = 25 * 3_600_000;
/** Longer than a receiver may fail before the Worker disables its webhook. */
const LONG_WEEKEND_MS = 5.2 * 24 * 3_600_000;
/** How often an operator calls the re-sealing before giving up for now. */
const RESEALS = 20;

const DRILLS = { "restore drill": 3, "restore drill of main": 1 };
/** The acts of a team that deploys, with their weights, and a night in which nobody acts. */
export const ACTS = { "settings changed": 5, "home closed": 2, "master key changed": 4, ...DRILLS, night: 1 };

type Act = keyof typeof ACTS;

/** The team that deploys, with its own operator. */
interface Team {
  world: World;
  chance: Chance;
  operator: Operator;
}

const TEAM_ACTS: Record<Act, (team: Team) => unknown> = {
  "settings changed": ({ world, chance }) => world.cloud.deploy(settingsLike(chance)),
  "home closed": closeForAWhile,
  "master key changed": changeMasterKey,
  "restore drill"({ world, chance, operator }) {
    const homes = [...world.cloud.homes.values()];
    return restoreDrill(operator, chance.fork(), chance.one(homes.slice(homes.length > 1 ? 1 : 0)));
  },
  "restore drill of main": ({ world, chance, operator }) =>
    restoreDrill(operator, chance.fork(), world.cloud.home("main")),
  // Rows expire while nobody calls.
  night: ({ world, chance }) => rest(world, chance.one([NIGHT_MS, NIGHT_MS, LONG_WEEKEND_MS])),
};

/** A team deploys: one act after another. */
export async function keepDeploying(world: World): Promise<void> {
  const chance = world.chance.fork();
  const team = { world, chance, operator: new Operator(world) };
  const some = Object.fromEntries(chance.some(Object.entries(ACTS) as [Act, number][], 0.55));
  const acts: Partial<Record<Act, number>> = world.weather.restores ? DRILLS : some;
  const isEarly = chance.happens(world.weather.restores ? 1 : 0.45);
  const isKeyChanged = chance.happens(0.35);
  // The first act comes soon: a drill takes long, and its second restore even longer.
  let first: Act | undefined = isKeyChanged ? "master key changed" : undefined;
  if (isEarly) first = chance.one(["restore drill", "restore drill of main"]);
  while (!world.closing && (first !== undefined || Object.keys(acts).length > 0)) {
    await pause(world, chance, first === undefined ? chance.between(5_000, 40_000) : chance.between(200, 2_000));
    if (world.closing) return;
    const act = first ?? chance.weighted(acts);
    first = undefined;
    world.count(act);
    world.say(() => [undefined, `act: ${act}`]);
    await TEAM_ACTS[act](team);
  }
}

async function closeForAWhile({ world, chance, operator }: Team): Promise<void> {
  const { cloud } = world;
  const name = chance.one([...cloud.homes.keys()]);
  const others = [...cloud.homes.keys()].filter((each) => each !== name);
  const closedHomes = [...chance.some(others, 0.2), name];
  const isInTheMiddle = await loseNextCommit(world, name);
  if (isInTheMiddle) world.count("moment: home closed in the middle of a call");
  closeHomes(cloud, closedHomes);
  if (chance.happens(0.5)) await keepAndRelease({ world, chance, operator }, name);
  await world.sleep(chance.between(1_000, 60_000));
  openHomes(cloud, closedHomes);
}

/** Issues an app in a closed home, so that its appid stays reserved, and releases the appid before the home is open. */
async function keepAndRelease({ world, chance, operator }: Team, home: string): Promise<void> {
  await world.sleep(chance.between(0, 25_000));
  const site = world.company.sitesAtWork.find((each) => each.home === home);
  if (site === undefined) return;
  const appid = `kept-${chance.uuid()}`;
  await operator.call("POST", `/sites/${site.siteId}/apps`, { name: "Shop", appid });
  if (world.company.sitesAtWork.includes(site)) await operator.call("DELETE", `/apps/${appid}`);
}

/** docs/operating/sites-and-secrets.md, "Rotating the master key". After the re-sealing, no earlier restore point is used. */
async function changeMasterKey({ world, chance, operator }: Team): Promise<void> {
  const { masterKey: masterKeyPrevious } = world.cloud.settings;
  const masterKey = newMasterKey(chance);
  const inUse = () => world.company.sitesAtWork.flatMap(({ apps }) => apps.filter(({ isRevoked }) => !isRevoked));
  const rotatedApps = chance.some(inUse(), 0.6);
  for (const each of rotatedApps) await operator.rotate(each, 86_400);
  world.cloud.deploy({ masterKey, masterKeyPrevious });
  await rest(world, REACHED_EVERYWHERE_MS * chance.number());
  // Isolates of the old deployment may still seal with the old key. So the last call comes when all of them have ended.
  if (chance.happens(0.2)) await operator.call("POST", "/reseal");
  await world.sleep(REACHED_EVERYWHERE_MS);
  await resealAtAChange(
    world,
    rotatedApps.filter((each) => inUse().includes(each)),
  );
  if (chance.happens(0.3)) await resealWithClosedHome({ world, chance, operator });
  const apps = world.company.apps.filter(({ isRevoked }) => !isRevoked);
  const app = apps.length > 0 && chance.happens(0.5) ? chance.one(apps) : undefined;
  const rotation = app !== undefined ? operator.rotate(app, 600) : undefined;
  const [isDone] = await Promise.all([resealAll(operator), rotation]);
  // The rotation that ran at the same time has sealed with the new key too.
  if (isDone) world.cloud.deploy({ masterKeyPrevious: undefined });
}

async function resealWithClosedHome({ world, chance, operator }: Team): Promise<void> {
  const closedHomes = [chance.one([...world.cloud.homes.keys()])];
  closeHomes(world.cloud, closedHomes);
  await rest(world, REACHED_EVERYWHERE_MS);
  await operator.call("POST", "/reseal");
  openHomes(world.cloud, closedHomes);
  await rest(world, REACHED_EVERYWHERE_MS);
}

/** Re-seals until no seal with the old key is left. @returns false when the operator gave up */
async function resealAll(operator: Operator): Promise<boolean> {
  for (let i = 0; i < RESEALS; i++) {
    const answer = await operator.insist("POST", "/reseal");
    if (answer?.status !== 200) continue;
    const body = JSON.parse(answer.body) as { remaining: number; homes_down: string[]; unopened: number };
    if (body.remaining === 0 && body.homes_down.length === 0 && body.unopened === 0) return true;
  }
  return false;
}

const settingsLike = (chance: Chance): Partial<Settings> =>
  chance.one<Partial<Settings>>([
    { toleranceSeconds: chance.one([60, 300, 900]) },
    { toleranceSeconds: chance.one([60, 900]) },
    { errorStatus: chance.one(["by-cause", "always-200"]) },
    { replayLookMs: chance.one([0, 1, 5, 50]) },
  ]);
