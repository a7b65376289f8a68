/** The homes of a deployment, as its D1 bindings name them. */

/** The home that every deployment has: the directory's own database. */
export const MAIN = "main";

const DIRECTORY = "DB";
const PREFIX = "HOME_";

/** What a home may be called. `main` is one that exists already. */
export const HOME_NAME = /^[a-z][a-z0-9-]{0,30}$/;

/** The home that a D1 binding is: DB is `main`, HOME_EU_WEST is `eu-west`. Undefined for a binding that is no home. */
export function homeOf(binding: string): string | undefined {
  if (binding === DIRECTORY) return MAIN;
  if (!/^HOME_[A-Z][A-Z0-9_]{0,30}$/.test(binding)) return undefined;
  return binding.slice(PREFIX.length).toLowerCase().replaceAll("_", "-");
}

/** The D1 binding of a home. */
export function bindingOf(home: string): string {
  return home === MAIN ? DIRECTORY : `${PREFIX}${home.toUpperCase().replaceAll("-", "_")}`;
}

/** The homes among D1 bindings, `main` first, the others as the file has them. */
export function homesOf(databases: readonly { binding: string }[]): string[] {
  const homes = databases.flatMap(({ binding }) => homeOf(binding) ?? []);
  return [...homes.filter((home) => home === MAIN), ...homes.filter((home) => home !== MAIN)];
}

/** The names in a value of the var CLOSED_HOMES, each once. */
export function closedHomesIn(value: string): string[] {
  const names = value.split(",").map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ""))];
}
