import { NotDeployed } from "./create-databases.ts";

/**
 * Requires that a Worker has all its secrets.
 *
 * @param set   the secrets that it has
 * @param typed the options that find the Worker, in a form for the command that the error prints
 * @throws NotDeployed with the command that sets the missing secrets
 */
export function requireSecrets(required: readonly string[], set: readonly string[], typed: readonly string[]): void {
  const missing = required.filter((name) => !set.includes(name));
  if (missing.length === 0) return;
  const words = typed.map((word) => (/^[\w./=-]+$/.test(word) ? word : `'${word}'`)).join(" ");
  throw new NotDeployed(`Nothing was deployed: ${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not set.

  npm run secrets${words === "" ? "" : ` -- ${words}`}

makes what is missing, and keeps it in a file for you. After that, run this again.`);
}
