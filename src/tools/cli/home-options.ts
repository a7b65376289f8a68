/** The options of `npm run deploy` for homes. */
import { bindingOfHome, CLOSED_LIST, HOME_NAME, MAIN_HOME } from "../../core/homes.ts";
import { type DatabasePlace, JURISDICTIONS, LOCATIONS, NotDeployed } from "./create-databases.ts";
import { UsageError } from "./known-options.ts";
import type { Database } from "./migrate.ts";
import type { D1Block } from "./wrangler-toml.ts";

/** @throws UsageError unless the options give exactly one place for the database, which can never move */
export function checkPlace({ home, location, jurisdiction }: DatabasePlace): void {
  if (jurisdiction !== undefined && !JURISDICTIONS.includes(jurisdiction)) {
    throw new UsageError(`--jurisdiction ${jurisdiction} is not one of ${JURISDICTIONS.join(", ")}.`);
  }
  if (location !== undefined && jurisdiction !== undefined) {
    throw new UsageError("--location and --jurisdiction exclude each other.");
  }
  if (home === undefined) return;
  if (home === MAIN_HOME) throw new UsageError("The home main is there already: it is the database DB.");
  if (!HOME_NAME.test(home)) {
    throw new UsageError(
      `--home ${home} is no name for a home: a letter, then up to 30 of a-z, 0-9 and "-", all in lower case.`,
    );
  }
  if (home === "homes") {
    throw new UsageError(
      `No new home can be named homes: ${CLOSED_LIST} would be its secret, and was a list of closed homes.`,
    );
  }
  if (location !== undefined && !LOCATIONS.includes(location)) {
    throw new UsageError(`--location ${location} is not one of ${LOCATIONS.join(", ")}.`);
  }
  if (location === undefined && jurisdiction === undefined && !LOCATIONS.includes(home)) {
    throw new UsageError(
      `Where shall home ${home} be? Add --location (${LOCATIONS.join(", ")}) or --jurisdiction (${JURISDICTIONS.join(", ")}). It stays there.`,
    );
  }
}

/** The binding of a new home; undefined when the configuration has the home. Its database is named after the database of DB. */
export function newHome(home: string, databases: readonly Database[]): D1Block | undefined {
  const binding = bindingOfHome(home);
  if (databases.some((each) => each.binding === binding)) return undefined;
  const main = databases.find((each) => each.binding === bindingOfHome(MAIN_HOME));
  if (main?.database_name === undefined) throw new NotDeployed("Binding DB has no database_name in the configuration.");
  return {
    binding,
    database_name: `${main.database_name}-${home}`,
    migrations_dir: main.migrations_dir ?? "migrations",
  };
}

export interface Closing {
  close: readonly string[];
  open: readonly string[];
}

/** @throws UsageError for a home that would be both closed and opened */
export function checkClosing({ close, open }: Closing): void {
  const closedAndOpened = close.filter((home) => open.includes(home));
  if (closedAndOpened.length > 0) throw new UsageError(`${closedAndOpened.join(" and ")}: either --close or --open.`);
}

/** The homes that are closed after the change. */
export const closedAfter = (before: readonly string[], { close, open }: Closing): string[] =>
  [...new Set([...before, ...close])].filter((home) => !open.includes(home));
