import { resealAtAChange } from "../../callers/acts/at-one-app.ts";
import { loseNextCommit } from "../../callers/acts/lost-commits.ts";
import type { Chance } from "../../machine/chance.ts";
import { Operator } from "../../operators/acts/operator.ts";
import type { Home } from "../../world/cloud/home.ts";
import { newMasterKey, type Settings } from "../../world/cloud/settings.ts";
import { pause, rest } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { closeHomes, openHomes } from "./closed-in-calls.ts";
import { restoreDrill } from "./drill.ts";

/** Milliseconds after a deployment when the earlier isolates no longer serve, and all of their work has ended. */
export const REACHED_EVERYWHERE_MS = 60_000;
const NIGHT_MS = 25 * 3_600_000;
/** Longer than a receiver may fail before the Worker disables its webhook. */
const LONG_WEEKEND_MS = 5.2 * 24 * 3_600_000;
/** How often an operator calls the re-sealing before he gives up for now. */
const RESEALS = 20;

const DRILLS = { "restore drill": 3, "restore drill of main": 1 };
/** The acts of a team that deploys, by their weights, and a night in which nobody acts. */
export const ACTS = { "settings changed": 5, "home closed": 2, "master key changed": 4, ...DRILLS, night: 1 };

type Act = keyof typeof ACTS;

/** A team that deploys: one act after another. */
export class Deployer {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #operator: Operator;
  readonly #acts: Partial<Record<Act, number>>;
  /** The first act, which comes soon: a drill takes long, and its second restore even longer. */
  #first: Act | undefined;

  constructor(world: World) {
    this.#world = world;
    this.#chance = world.chance.fork();
    this.#operator = new Operator(world);
    const some = Object.fromEntries(this.#chance.some(Object.entries(ACTS) as [Act, number][], 0.55));
    this.#acts = world.weather.restores ? DRILLS : some;
    const isEarly = this.#chance.happens(world.weather.restores ? 1 : 0.45);
    const isKeyChanged = this.#chance.happens(0.35);
    const others = isKeyChanged ? ("master key changed" as const) : undefined;
    this.#first = isEarly ? this.#chance.one(["restore drill", "restore drill of main"]) : others;
  }

  async work(): Promise<void> {
    const world = this.#world;
    const chance = this.#chance;
    const acts = this.#acts;
    while (!world.closing && (this.#first !== undefined || Object.keys(acts).length > 0)) {
      await pause(
        world,
        chance,
        this.#first === undefined ? chance.between(5_000, 40_000) : chance.between(200, 2_000),
      );
      if (world.closing) return;
      const act = this.#first ?? chance.weighted(acts);
      this.#first = undefined;
      world.count(act);
      world.say(() => [undefined, `act: ${act}`]);
      await this.#act(act);
    }
  }

  async #act(act: Act): Promise<void> {
    const world = this.#world;
    const chance = this.#chance;
    const homes = [...world.cloud.homes.values()];
    switch (act) {
      case "settings changed":
        return world.cloud.deploy(settingsLike(chance));
      case "home closed":
        return this.#closeForAWhile(chance.one(homes));
      case "master key changed":
        return this.#changeMasterKey();
      case "restore drill":
        return restoreDrill(world, this.#operator, chance.fork(), chance.one(homes.slice(homes.length > 1 ? 1 : 0)));
      case "restore drill of main":
        return restoreDrill(world, this.#operator, chance.fork(), world.cloud.home("main"));
      case "night":
        // Rows expire while nobody calls.
        return rest(world, chance.one([NIGHT_MS, NIGHT_MS, LONG_WEEKEND_MS]));
    }
  }

  async #closeForAWhile({ name }: Home): Promise<void> {
    const { cloud } = this.#world;
    const others = [...cloud.homes.keys()].filter((each) => each !== name);
    const closed = [...this.#chance.some(others, 0.2), name];
    const isInTheMiddle = await loseNextCommit(this.#world, name);
    if (isInTheMiddle) this.#world.count("moment: home closed in the middle of a call");
    closeHomes(cloud, closed);
    if (this.#chance.happens(0.5)) await this.#keepAndRelease(name);
    await this.#world.sleep(this.#chance.between(1_000, 60_000));
    openHomes(cloud, closed);
  }

  /**
   * Asks for an appid in a closed home, which then stays reserved for the site, and releases it while the home is
   * closed.
   */
  async #keepAndRelease(home: string): Promise<void> {
    await this.#world.sleep(this.#chance.between(0, 25_000));
    const site = this.#world.company.sitesAtWork.find((each) => each.home === home);
    if (site === undefined) return;
    const appid = `kept-${this.#chance.uuid()}`;
    await this.#operator.call("POST", `/sites/${site.siteId}/apps`, { name: "Shop", appid });
    if (this.#world.company.sitesAtWork.includes(site)) await this.#operator.call("DELETE", `/apps/${appid}`);
  }

  /** docs/operating.md, "Rotating the master key". No point before the re-sealing is restored afterwards. */
  async #changeMasterKey(): Promise<void> {
    const world = this.#world;
    const { masterKey: masterKeyPrevious } = world.cloud.settings;
    const masterKey = newMasterKey(this.#chance);
    const inUse = () => world.company.sitesAtWork.flatMap(({ apps }) => apps.filter(({ revoked }) => !revoked));
    const overlapping = this.#chance.some(inUse(), 0.6);
    for (const each of overlapping) await this.#operator.rotate(each, 86_400);
    world.cloud.deploy({ masterKey, masterKeyPrevious });
    await rest(world, REACHED_EVERYWHERE_MS * this.#chance.number());
    // Isolates of the old deployment may still seal with the old key, so the last call comes when none of them is left.
    if (this.#chance.happens(0.2)) await this.#operator.call("POST", "/reseal");
    await world.sleep(REACHED_EVERYWHERE_MS);
    await resealAtAChange(
      world,
      overlapping.filter((each) => inUse().includes(each)),
    );
    if (this.#chance.happens(0.3)) await this.#resealWithClosedHome();
    const apps = world.company.apps.filter(({ revoked }) => !revoked);
    const app = apps.length > 0 && this.#chance.happens(0.5) ? this.#chance.one(apps) : undefined;
    const rotated = app !== undefined ? this.#operator.rotate(app, 600) : undefined;
    const [done] = await Promise.all([resealAll(this.#operator), rotated]);
    // A rotation of an app at the same time has sealed with the new key too.
    if (done) world.cloud.deploy({ masterKeyPrevious: undefined });
  }

  async #resealWithClosedHome(): Promise<void> {
    const { cloud } = this.#world;
    const closed = [this.#chance.one([...cloud.homes.keys()])];
    closeHomes(cloud, closed);
    await rest(this.#world, REACHED_EVERYWHERE_MS);
    await this.#operator.call("POST", "/reseal");
    openHomes(cloud, closed);
    await rest(this.#world, REACHED_EVERYWHERE_MS);
  }
}

/** Re-seals until no seal with the old key is left. @returns false when the operator gave up */
async function resealAll(operator: Operator): Promise<boolean> {
  for (let i = 0; i < RESEALS; i++) {
    const answer = await operator.insist("POST", "/reseal");
    if (answer?.status !== 200) continue;
    const { remaining, homes_down, unopened } = JSON.parse(answer.body) as {
      remaining: number;
      homes_down: string[];
      unopened: number;
    };
    if (remaining === 0 && homes_down.length === 0 && unopened === 0) return true;
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
