/** `npm run deploy`: creates what is missing, migrates, then deploys. Arguments go to `wrangler deploy`. */
import { join } from "node:path";
import { unstable_readConfig } from "wrangler";
import { optionValues } from "./option-values.ts";
import { handOverToWrangler, PROJECT_ROOT, runWrangler } from "./run-wrangler.ts";

/** Stops the deployment. The message says what to do. */
class NotDeployed extends Error {}

/** How a secret's value is made, for the commands that are printed. */
const RANDOM: Readonly<Record<string, string>> = {
  MASTER_KEY: "openssl rand -base64 32",
  ADMIN_TOKEN: "openssl rand -hex 32",
};

const LOGIN =
  "Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN, and CLOUDFLARE_ACCOUNT_ID where there is more than one account.";

try {
  process.exitCode = await deploy(process.argv.slice(2));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

async function deploy(args: string[]): Promise<number> {
  const location = optionValues(args, ["--location"]);
  const { values, rest } = optionValues(location.rest, ["--env", "-e"]);
  // Said even when empty: with more than one environment in the file wrangler warns of silence.
  const environment = values.at(-1) ?? process.env.CLOUDFLARE_ENV ?? "";
  const shared = ["--env", environment, ...passedOn(rest)];
  const lookOnly = rest.includes("--dry-run") || rest.includes("--help") || rest.includes("-h");
  if (!lookOnly) {
    const config = readConfig(rest, environment);
    // With a file of secrets, wrangler itself looks for what is missing.
    const ownSecrets = optionValues(rest, ["--secrets-file"]).values.length > 0;
    const name = optionValues(rest, ["--name"]).values.at(-1);
    const worker = name === undefined ? [] : ["--name", name];
    if (!ownSecrets) await requireSecrets(config.secrets?.required ?? [], worker, shared);
    await createDatabases(config.d1_databases, location.values.at(-1), shared);
    for (const { binding } of config.d1_databases) await migrate(binding, shared);
  }
  return handOverToWrangler(["deploy", "--env", environment, ...rest]);
}

/** Options that say which Worker and which account, so every command needs them. */
function passedOn(args: readonly string[]): string[] {
  const options = [["--config", "-c"], ["--cwd"], ["--profile"]];
  return options.flatMap((names) => {
    const value = optionValues(args, names).values.at(-1);
    return value === undefined ? [] : [names[0] as string, value];
  });
}

function readConfig(args: readonly string[], environment: string) {
  const config = optionValues(args, ["--config", "-c"]).values.at(-1) ?? join(PROJECT_ROOT, "wrangler.toml");
  return unstable_readConfig({ config, env: environment }, { hideWarnings: true });
}

async function requireSecrets(
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

/** Bindings have names and no ids in wrangler.toml: wrangler finds a database by its name, here and when it deploys. */
async function createDatabases(
  bindings: readonly { binding: string; database_name?: string; database_id?: string }[],
  location: string | undefined,
  shared: readonly string[],
): Promise<void> {
  const { exitCode, stdout, output } = await runWrangler(["d1", "list", "--json", ...shared]);
  if (exitCode !== 0) throw new NotDeployed(`The account could not be asked for its databases:\n${output}`);
  const there = new Set((JSON.parse(stdout) as { name: string }[]).map(({ name }) => name));
  for (const { binding, database_name: name, database_id: id } of bindings) {
    if (id !== undefined) continue;
    if (name === undefined) throw new NotDeployed(`Binding ${binding} has no database_name in the configuration.`);
    if (there.has(name)) {
      if (location !== undefined) console.log(`Database ${name} is there already: --location has no effect on it.`);
      continue;
    }
    const hint = location === undefined ? [] : ["--location", location];
    const created = await runWrangler(["d1", "create", name, ...hint, ...shared]);
    if (created.exitCode !== 0) throw new NotDeployed(`Database ${name} could not be created:\n${created.output}`);
    there.add(name);
    console.log(`Created database ${name}${location === undefined ? "" : ` near ${location}`}.`);
  }
}

async function migrate(binding: string, shared: readonly string[]): Promise<void> {
  const { exitCode, output } = await runWrangler(["d1", "migrations", "apply", binding, "--remote", ...shared]);
  if (exitCode !== 0) throw new NotDeployed(`The migrations of ${binding} could not be applied:\n${output}`);
  console.log(output.includes("No migrations to apply") ? `${binding} is up to date.` : `${binding} migrated.`);
}
