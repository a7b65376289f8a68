/** `npm run deploy`: creates what is missing, migrates, then deploys. */
import { join } from "node:path";
import { asArguments, readOptions, UsageError } from "./known-options.ts";
import { handOverToWrangler, PROJECT_ROOT, runWrangler } from "./run-wrangler.ts";

/** Stops the deployment. The message says what to do. */
class NotDeployed extends Error {}

/** The command that makes each secret's value, for the commands that are printed. */
const RANDOM: Readonly<Record<string, string>> = {
  MASTER_KEY: "openssl rand -base64 32",
  ADMIN_TOKEN: "openssl rand -hex 32",
};

const LOGIN =
  "Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN, and CLOUDFLARE_ACCOUNT_ID where there is more than one account.";

const USAGE = `npm run deploy -- [options]

  --location HINT        where a database that does not exist yet is made: weur, eeur, apac, oc, wnam or enam
  --env, -e NAME         a stage of wrangler.toml, such as staging
  --var NAME:VALUE       another value for one of [vars] in wrangler.toml; may be repeated
  --secrets-file FILE    secrets to set along with this version; nothing is asked about those that are missing
  --dry-run              builds, and neither makes nor changes anything
  --help, -h             this

Handed on to wrangler as they are: --name, --keep-vars, --outdir, --tag, --message, --route, --domain, --strict, --config, --cwd,
--profile, --env-file.

Exit code: 1 when it was not deployed, 2 called wrongly.`;

const OPTIONS = {
  location: { type: "string" },
  env: { type: "string", short: "e" },
  var: { type: "string", multiple: true },
  "secrets-file": { type: "string" },
  "dry-run": { type: "boolean" },
  help: { type: "boolean", short: "h" },
  name: { type: "string" },
  "keep-vars": { type: "boolean" },
  outdir: { type: "string" },
  tag: { type: "string" },
  message: { type: "string" },
  route: { type: "string", multiple: true },
  domain: { type: "string", multiple: true },
  strict: { type: "boolean" },
  config: { type: "string", short: "c" },
  cwd: { type: "string" },
  profile: { type: "string" },
  "env-file": { type: "string", multiple: true },
} as const;

try {
  process.exitCode = await deploy(process.argv.slice(2));
} catch (error) {
  const { message } = error as Error;
  const calledWrongly = error instanceof UsageError;
  console.error(calledWrongly ? `${message}\n\nnpm run deploy -- --help tells more.` : message);
  process.exitCode = calledWrongly ? 2 : 1;
}

async function deploy(args: string[]): Promise<number> {
  // Passed to wrangler even when empty: without --env it warns when the file has several environments.
  const {
    help,
    location,
    env = process.env.CLOUDFLARE_ENV ?? "",
    ...options
  } = readOptions("npm run deploy -- …", args, OPTIONS).values;
  if (help === true) {
    console.log(USAGE);
    return 0;
  }
  if (options["dry-run"] !== true) {
    const { config: file, cwd, profile, "env-file": envFile } = options;
    // These choose the Worker and the account, so every command needs them.
    const shared = [
      ...["--env", env],
      ...Object.entries({ "--config": file, "--cwd": cwd, "--profile": profile }).flatMap(([name, value]) =>
        value === undefined ? [] : [name, value],
      ),
      ...(envFile ?? []).flatMap((each) => ["--env-file", each]),
    ];
    // Loaded late, because it takes a second, and --help or a wrong option should answer at once.
    const { unstable_readConfig } = await import("wrangler");
    const config = unstable_readConfig(
      { config: file ?? join(PROJECT_ROOT, "wrangler.toml"), env },
      { hideWarnings: true },
    );
    const worker = options.name === undefined ? [] : ["--name", options.name];
    // With a file of secrets, wrangler itself checks that none is missing.
    if (options["secrets-file"] === undefined) await requireSecrets(config.secrets?.required ?? [], worker, shared);
    await createDatabases(config.d1_databases, location, shared);
    for (const { binding } of config.d1_databases) await migrate(binding, shared);
  }
  return handOverToWrangler(["deploy", ...asArguments({ env, ...options })]);
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

/** Creates the databases that do not exist yet. wrangler.toml holds names and no ids: wrangler finds a database by its name. */
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
    const place = location === undefined ? ", placed by Cloudflare since there was no --location" : ` near ${location}`;
    console.log(`Created database ${name}${place}.`);
  }
}

async function migrate(binding: string, shared: readonly string[]): Promise<void> {
  const { exitCode, output } = await runWrangler(["d1", "migrations", "apply", binding, "--remote", ...shared]);
  if (exitCode !== 0) throw new NotDeployed(`The migrations of ${binding} could not be applied:\n${output}`);
  console.log(output.includes("No migrations to apply") ? `${binding} is up to date.` : `${binding} migrated.`);
}
