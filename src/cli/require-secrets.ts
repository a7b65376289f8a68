import { NotDeployed } from "./create-databases.ts";
import type { Io } from "./io.ts";

const LOGIN =
  "Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN, and CLOUDFLARE_ACCOUNT_ID where there is more than one account.";

/**
 * The names of a Worker's secrets. Empty when the Worker does not exist yet.
 *
 * @param worker options that find the Worker: secretOptions
 * @throws NotDeployed
 */
export async function secretsOf(worker: readonly string[], io: Io): Promise<string[]> {
  const { exitCode, stdout, output } = await io.wrangler(["secret", "list", ...worker]);
  if (exitCode === 0) return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
  if (/Worker ".*"( \(env: .*\))? not found/.test(output)) return [];
  throw new NotDeployed(`The account could not be asked for its secrets:\n${output}\n${LOGIN}`);
}

/**
 * Requires that a Worker has all its secrets.
 *
 * @param worker options that find the Worker: secretOptions
 * @param typed  the same options for one of our commands, which the error prints
 * @throws NotDeployed with the command that sets the missing secrets
 */
export async function requireSecrets(
  required: readonly string[],
  worker: readonly string[],
  typed: readonly string[],
  io: Io,
): Promise<void> {
  const set = await secretsOf(worker, io);
  const missing = required.filter((name) => !set.includes(name));
  if (missing.length === 0) return;
  const words = typed.map((word) => (/^[\w./=-]+$/.test(word) ? word : `'${word}'`)).join(" ");
  throw new NotDeployed(`Nothing was deployed: ${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not set.

  npm run secrets${words === "" ? "" : ` -- ${words}`}

makes what is missing, and keeps it in a file for you. After that, run this again.`);
}
