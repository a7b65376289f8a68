/** The homes of a deployment, as its D1 bindings name them. */
import { BINDING_RULE, homeOfBinding, isMisnamed, MAIN_HOME, namesIn } from "../homes.ts";
import { UsageError } from "./known-options.ts";

/** The Worker cannot serve this configuration. The message says what to change in it. */
export class Misconfigured extends Error {}

/**
 * The homes among D1 bindings: `main` first, the others in the order of the file.
 *
 * @throws Misconfigured for a binding that looks like a home's and has a wrong name: the Worker would answer every call with 500
 */
export function homesOf(databases: readonly { binding: string }[]): string[] {
  const misnamed = databases.map(({ binding }) => binding).filter(isMisnamed);
  if (misnamed.length > 0) throw new Misconfigured(`No home can be bound as ${misnamed.join(" or ")}. ${BINDING_RULE}`);
  const homes = databases.flatMap(({ binding }) => homeOfBinding(binding) ?? []);
  return [...homes.filter((home) => home === MAIN_HOME), ...homes.filter((home) => home !== MAIN_HOME)];
}

/** The value of CLOSED_HOMES in the last `--var CLOSED_HOMES:VALUE`; undefined when no option gives one. */
export function closedByOption(vars: readonly string[] = []): string | undefined {
  const name = "CLOSED_HOMES:";
  return vars.findLast((each) => each.startsWith(name))?.slice(name.length);
}

/** @throws UsageError naming each text that is no home, and all homes */
export function requireHomes(names: readonly string[], homes: readonly string[]): void {
  const unknown = names.filter((name) => !homes.includes(name));
  if (unknown.length === 0) return;
  throw new UsageError(`There is no home ${unknown.join(" or ")}. The homes are: ${homes.join(", ")}.`);
}

/**
 * The homes that the configuration closes.
 *
 * @throws Misconfigured when it names an unknown home: after a typing error, the home to close would stay open
 */
export function closedByConfig(vars: Readonly<Record<string, unknown>>, homes: readonly string[]): string[] {
  const closed = namesIn(String(vars.CLOSED_HOMES ?? ""));
  const unknown = closed.filter((home) => !homes.includes(home));
  if (unknown.length === 0) return closed;
  throw new Misconfigured(
    `CLOSED_HOMES in the configuration names ${unknown.join(" and ")}, and there is no such home. The homes are: ${homes.join(", ")}.`,
  );
}

/** The name of a D1 binding in messages. A deployment with one database sees no word about homes. */
export function labelOf(binding: string): string {
  const home = homeOfBinding(binding);
  if (home === MAIN_HOME) return "Database";
  return home === undefined ? `Database ${binding}` : `Home ${home}`;
}
