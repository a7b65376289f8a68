import { bindingOfHome, homeOfBinding } from "../../core/homes.ts";
import { NotDeployed } from "./create-databases.ts";
import type { LiveWorker, ServedVersion } from "./live-worker.ts";
import type { Database } from "./migrate.ts";

/**
 * Requires that a deployment keeps every home of the serving Worker, with its database. An old checkout lacks homes that were added later.
 *
 * @param dropped homes that may be removed, because the operator named them
 * @throws NotDeployed
 */
export async function requireSameHomes(
  live: LiveWorker,
  { databases, closed }: ServedVersion,
  ownDatabases: readonly Database[],
  dropped: readonly string[],
): Promise<void> {
  for (const [home, id] of databases) {
    const bound = ownDatabases.find(({ binding }) => homeOfBinding(binding) === home);
    if (bound === undefined && !dropped.includes(home)) throw new NotDeployed(missingHomeText(live.name, home));
    // A closed home may get another database, because a copy is restored in this way.
    if (bound === undefined || bound.database_id === id || closed.includes(home)) continue;
    const nameInAccount = await live.nameOfDatabase(id);
    if (bound.database_id === undefined && bound.database_name === nameInAccount) continue;
    throw new NotDeployed(`Nothing was deployed: home ${home} is served from the database ${nameInAccount} (${id}), and ${bound.binding} in the configuration is
${bound.database_id ?? bound.database_name}. Its sites would be without their data. Bind ${nameInAccount} again; or, when the other one holds a copy of it, close the home
first: npm run deploy -- --close ${home}`);
  }
}

const missingHomeText = (worker: string, home: string) =>
  `Nothing was deployed: Worker ${worker} serves home ${home}, and the configuration has no ${bindingOfHome(home)}. All calls of its sites would be
answered 503. Bring the checkout up to date. Or, to take the home away on purpose: npm run deploy -- --drop-home ${home}`;
