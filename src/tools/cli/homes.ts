/** The homes of a deployment, as its D1 bindings name them. */
import { existsSync, readFileSync } from "node:fs";
import { BINDING_RULE, CLOSED_LIST, homeOfBinding, homeOfSecret, isMisnamed, MAIN_HOME } from "../../core/homes.ts";
import { UsageError } from "./known-options.ts";

/** Thrown for a configuration that the Worker cannot serve. The message says what to change in it. */
export class Misconfigured extends Error {}

/**
 * The homes among D1 bindings. `main` comes first, the others in the order of the file.
 *
 * @throws Misconfigured for a wrong name of a home's binding, because the Worker would answer every call with 500
 */
export function homesOf(databases: readonly { binding: string }[]): string[] {
  const misnamed = databases.map(({ binding }) => binding).filter(isMisnamed);
  if (misnamed.length > 0) throw new Misconfigured(`No home can be bound as ${misnamed.join(" or ")}. ${BINDING_RULE}`);
  const homes = databases.flatMap(({ binding }) => homeOfBinding(binding) ?? []);
  return [...homes.filter((home) => home === MAIN_HOME), ...homes.filter((home) => home !== MAIN_HOME)];
}

/** @throws UsageError with each text that is no home, and all homes */
export function requireHomes(names: readonly string[], homes: readonly string[]): void {
  const unknown = names.filter((name) => !homes.includes(name));
  if (unknown.length === 0) return;
  throw new UsageError(`There is no home ${unknown.join(" or ")}. The homes are: ${homes.join(", ")}.`);
}

/** Whether a setting of this name closes homes. No file and no --var may have it, because an old checkout would open closed homes. */
export const closesHomes = (name: string): boolean => name === CLOSED_LIST || homeOfSecret(name) !== undefined;

/** @throws Misconfigured when a file of secrets has a line that closes homes */
export function refuseClosing(file: string, instead: string): void {
  if (!existsSync(file)) return;
  const names = [...readFileSync(file, "utf8").matchAll(/(?:^|[{,])\s*(?:export\s+)?["']?(CLOSED_\w+)["']?\s*[=:]/gm)];
  const name = names.map(([, each = ""]) => each).find(closesHomes);
  if (name !== undefined) throw new Misconfigured(`${file} sets ${name}. ${instead}`);
}

/** The name of a D1 binding in messages. With only one database, the messages do not mention homes. */
export function labelOf(binding: string): string {
  const home = homeOfBinding(binding);
  if (home === MAIN_HOME) return "Database";
  return home === undefined ? `Database ${binding}` : `Home ${home}`;
}
