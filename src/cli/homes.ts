/** The homes of a deployment, as its D1 bindings name them. */
import { UsageError } from "./known-options.ts";

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

/** The last value that options `--var NAME:VALUE` give to CLOSED_HOMES; undefined when none does. */
export function closedByOption(vars: readonly string[] = []): string | undefined {
  const name = "CLOSED_HOMES:";
  return vars.findLast((each) => each.startsWith(name))?.slice(name.length);
}

/** @throws UsageError naming what is no home, and the homes that there are */
export function requireHomes(names: readonly string[], homes: readonly string[]): void {
  const unknown = names.filter((name) => !homes.includes(name));
  if (unknown.length === 0) return;
  throw new UsageError(`There is no home ${unknown.join(" or ")}. The homes are: ${homes.join(", ")}.`);
}

/** What a D1 binding is called in messages. A deployment with one database never reads of homes. */
export function labelOf(binding: string): string {
  const home = homeOf(binding);
  if (home === MAIN) return "Database";
  return home === undefined ? `Database ${binding}` : `Home ${home}`;
}
