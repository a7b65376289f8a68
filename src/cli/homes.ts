/** The homes of a deployment, as its D1 bindings name them. */
import { BINDING_RULE, homeOfBinding, isMisnamed, MAIN_HOME, namesIn } from "../homes.ts";
import { UsageError } from "./known-options.ts";

/** The configuration cannot be served. The message says what to change in it. */
export class Misconfigured extends Error {}

/**
 * The homes among D1 bindings, `main` first, the others as the file has them.
 *
 * @throws Misconfigured for a binding that only looks like one: the Worker would answer every call with 500
 */
export function homesOf(databases: readonly { binding: string }[]): string[] {
  const misnamed = databases.map(({ binding }) => binding).filter(isMisnamed);
  if (misnamed.length > 0) throw new Misconfigured(`No home can be bound as ${misnamed.join(" or ")}. ${BINDING_RULE}`);
  const homes = databases.flatMap(({ binding }) => homeOfBinding(binding) ?? []);
  return [...homes.filter((home) => home === MAIN_HOME), ...homes.filter((home) => home !== MAIN_HOME)];
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

/**
 * The homes that the configuration closes.
 *
 * @throws Misconfigured when it names one that does not exist: with a wrong letter, the home that was meant would be served
 */
export function closedByConfig(vars: Readonly<Record<string, unknown>>, homes: readonly string[]): string[] {
  const closed = namesIn(String(vars.CLOSED_HOMES ?? ""));
  const unknown = closed.filter((home) => !homes.includes(home));
  if (unknown.length === 0) return closed;
  throw new Misconfigured(
    `CLOSED_HOMES in the configuration names ${unknown.join(" and ")}, and there is no such home. The homes are: ${homes.join(", ")}.`,
  );
}

/** What a D1 binding is called in messages. A deployment with one database never reads of homes. */
export function labelOf(binding: string): string {
  const home = homeOfBinding(binding);
  if (home === MAIN_HOME) return "Database";
  return home === undefined ? `Database ${binding}` : `Home ${home}`;
}
