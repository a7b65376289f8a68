/** The homes of a deployment, as its D1 bindings name them. */
import { existsSync, readFileSync } from "node:fs";
import { BINDING_RULE, CLOSED_LIST, homeOfBinding, homeOfSecret, isMisnamed, MAIN_HOME } from "../../core/homes.ts";
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

/** @throws UsageError naming each text that is no home, and all homes */
export function requireHomes(names: readonly string[], homes: readonly string[]): void {
  const unknown = names.filter((name) => !homes.includes(name));
  if (unknown.length === 0) return;
  throw new UsageError(`There is no home ${unknown.join(" or ")}. The homes are: ${homes.join(", ")}.`);
}

/** Whether a setting of this name closes homes. It may stand in no file and no --var: an old checkout would open what is closed. */
export const closesHomes = (name: string): boolean => name === CLOSED_LIST || homeOfSecret(name) !== undefined;

/** @throws Misconfigured for a line of a file of secrets that closes homes */
export function refuseClosing(file: string, instead: string): void {
  if (!existsSync(file)) return;
  const names = [...readFileSync(file, "utf8").matchAll(/(?:^|[{,])\s*(?:export\s+)?["']?(CLOSED_\w+)["']?\s*[=:]/gm)];
  const name = names.map(([, each = ""]) => each).find(closesHomes);
  if (name !== undefined) throw new Misconfigured(`${file} sets ${name}. ${instead}`);
}

/** The name of a D1 binding in messages. A deployment with one database sees no word about homes. */
export function labelOf(binding: string): string {
  const home = homeOfBinding(binding);
  if (home === MAIN_HOME) return "Database";
  return home === undefined ? `Database ${binding}` : `Home ${home}`;
}
