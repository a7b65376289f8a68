import { NotDeployed } from "./create-databases.ts";
import { runWrangler } from "./run-wrangler.ts";

/** The command that makes each secret's value, for the commands that are printed. */
const RANDOM: Readonly<Record<string, string>> = {
  MASTER_KEY: "openssl rand -base64 32",
  ADMIN_TOKEN: "openssl rand -hex 32",
};

const LOGIN =
  "Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN, and CLOUDFLARE_ACCOUNT_ID where there is more than one account.";

/**
 * Asks the account whether a Worker has its secrets.
 *
 * @param worker the option that names it
 * @param shared options that choose the account
 * @throws NotDeployed with the commands that set those that are missing
 */
export async function requireSecrets(
  required: readonly string[],
  worker: readonly string[],
  shared: readonly string[],
): Promise<void> {
  const { exitCode, stdout, output } = await runWrangler(["secret", "list", ...shared, ...worker]);
  const absent = exitCode !== 0 && /Worker ".*"( \(env: .*\))? not found/.test(output);
  if (exitCode !== 0 && !absent) {
    throw new NotDeployed(`The account could not be asked for its secrets:\n${output}\n${LOGIN}`);
  }
  const set = absent ? [] : (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
  const missing = required.filter((name) => !set.includes(name));
  if (missing.length > 0) throw new NotDeployed(howToSet(missing, absent, [...shared, ...worker]));
}

function howToSet(missing: readonly string[], absent: boolean, options: readonly string[]): string {
  const words = options.map((word) => (/^[\w./-]+$/.test(word) ? word : `'${word}'`)).join(" ");
  const commands = missing.map((name) => {
    const value = RANDOM[name] ?? "cat";
    return `  ${value} | tee ~/agent-session.${name} | npx wrangler secret put ${name} ${words}`;
  });
  return `Nothing was deployed: ${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not set${
    absent ? "; the Worker does not exist yet, the first command makes an empty one to hold them" : ""
  }.

  umask 077
${commands.join("\n")}

The files in your home folder keep the values for you: store them safely, then remove them. After that, run this again.`;
}
