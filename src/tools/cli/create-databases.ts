import { homeOfBinding, MAIN_HOME } from "../../core/homes.ts";
import type { Io } from "./io.ts";
import type { Database } from "./migrate.ts";

/** Stops the deployment. Its message says what to do. */
export class NotDeployed extends Error {}

export const LOGIN =
  "Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN, and CLOUDFLARE_ACCOUNT_ID where there is more than one account.";

/** Cloudflare's hints for the place of a new database. A home with such a name gets its database there. */
export const LOCATIONS = ["weur", "eeur", "apac", "oc", "wnam", "enam"];

/** Cloudflare's jurisdictions, which limit where data may be. A database keeps the one that it was made with. */
export const JURISDICTIONS = ["eu", "us", "fedramp"];

/** The place for new databases, from the options. */
export interface DatabasePlace {
  location?: string | undefined;
  jurisdiction?: string | undefined;
  /** The home that this place is for. Without it, the place is for every new database. */
  home?: string | undefined;
}

/**
 * Creates the databases that do not exist yet. wrangler.toml holds names and no ids, because wrangler finds a database by its name.
 *
 * @param shared options that choose the account
 * @throws NotDeployed
 */
export async function createDatabases(
  databases: readonly Database[],
  askedPlace: DatabasePlace,
  shared: readonly string[],
  io: Io,
): Promise<void> {
  const { exitCode, stdout, output } = await io.wrangler(["d1", "list", "--json", ...shared]);
  if (exitCode !== 0) throw new NotDeployed(`The account could not be asked for its databases:\n${output}`);
  const existingNames = new Set((JSON.parse(stdout) as { name: string }[]).map(({ name }) => name));
  for (const { binding, database_name: name, database_id: id } of databases) {
    if (id !== undefined) continue;
    if (name === undefined) throw new NotDeployed(`Binding ${binding} has no database_name in the configuration.`);
    if (existingNames.has(name)) {
      const [placeOption] = isPlaceOf(binding, askedPlace) ? placeOptions(askedPlace) : [];
      if (placeOption !== undefined) io.out(`Database ${name} is there already: ${placeOption} has no effect on it.`);
      continue;
    }
    const place = placeOf(binding, askedPlace);
    const created = await io.wrangler(["d1", "create", name, ...placeOptions(place), ...shared]);
    if (created.exitCode !== 0) throw new NotDeployed(`Database ${name} could not be created:\n${created.output}`);
    existingNames.add(name);
    io.out(`Created database ${name}${placeText(place)}.`);
  }
}

/** @throws NotDeployed for another home without a place. A database can never move, so its place is not guessed */
function placeOf(binding: string, askedPlace: DatabasePlace): DatabasePlace {
  const home = homeOfBinding(binding);
  const locationOfHome = home !== undefined && LOCATIONS.includes(home) ? { location: home } : undefined;
  if (isPlaceOf(binding, askedPlace)) {
    if (askedPlace.jurisdiction !== undefined) return askedPlace;
    // A --location for all databases does not apply to a home like `apac`, whose name is a place.
    if (askedPlace.home === undefined && locationOfHome !== undefined) return locationOfHome;
    if (askedPlace.location !== undefined) return askedPlace;
  }
  if (locationOfHome !== undefined || home === undefined || home === MAIN_HOME) return locationOfHome ?? {};
  throw new NotDeployed(
    `Home ${home} has no database yet, and nothing says where to make it: npm run deploy -- --home ${home} --location HINT`,
  );
}

const isPlaceOf = (binding: string, askedPlace: DatabasePlace) =>
  askedPlace.home === undefined || askedPlace.home === homeOfBinding(binding);

/** The options for a place. wrangler would ignore a location beside a jurisdiction. */
function placeOptions({ location, jurisdiction }: DatabasePlace): string[] {
  if (jurisdiction !== undefined) return ["--jurisdiction", jurisdiction];
  return location === undefined ? [] : ["--location", location];
}

function placeText({ location, jurisdiction }: DatabasePlace): string {
  if (jurisdiction !== undefined) return ` in the jurisdiction ${jurisdiction}`;
  return location === undefined ? ", placed by Cloudflare since there was no --location" : ` near ${location}`;
}
