import type { Chance } from "../../machine/chance.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";

/** Higher than any id that a run gives, so no site gets this id. */
const STRAY_SITE = 900_001;

/**
 * Uses SQL once to make a state that the directory does not know: a site without its row in the directory, or an app
 * whose route is deleted. Lists, reconciliations and other calls must still work.
 */
export async function makeOrphan(world: World): Promise<void> {
  const chance = world.chance.fork();
  await pause(world, chance, chance.between(5_000, 90_000));
  // A home under restore must not be changed by anybody else.
  if (world.closing || world.company.underRestore.size > 0) return;
  if (chance.happens(0.5)) straySite(world, chance);
  else deleteRoute(world, chance);
}

function straySite(world: World, chance: Chance): void {
  const home = chance.one([...world.cloud.homes.values()]);
  const sql = `INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at, events, event_seq_floor)
    VALUES (?, 'Stray', ?, 41, 3, ?, 0, 0)`;
  home.database.transaction([{ sql, values: [STRAY_SITE, chance.one(["open", "closed"]), world.clock] }]);
  world.say(() => [undefined, `stray site ${STRAY_SITE} made by hand in ${home.name}`]);
  world.count("site made by hand");
}

function deleteRoute(world: World, chance: Chance): void {
  const apps = world.company.sitesAtWork.flatMap((site) => site.apps.filter(({ isRevoked }) => !isRevoked));
  if (apps.length === 0) return;
  const { appid } = chance.one(apps);
  world.cloud.home("main").database.transaction([{ sql: "DELETE FROM app_routes WHERE appid = ?", values: [appid] }]);
  world.say(() => [appid, "loses its route by hand"]);
  world.count("route deleted by hand");
}
