/** `npm run secrets`: makes the secrets of a new deployment, once. It never replaces a secret, in its file or in the deployed Worker. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { command } from "./command.ts";
import { LOGIN, NotDeployed } from "./create-databases.ts";
import { lastValue, linesOf, SECRET_NAMES, type SecretName } from "./dev-secrets.ts";
import type { Io } from "./io.ts";
import { readOptions } from "./known-options.ts";
import { ACCOUNT_OPTIONS, secretOptions, sharedOptions } from "./wrangler-options.ts";

const USAGE = `npm run secrets -- [options]

Makes a random MASTER_KEY and ADMIN_TOKEN for a Worker that has none, writes them into a file in your home folder, and sets them. Refuses
when the Worker has them. When it stopped half-way, run it again: it goes on with the values of the file.

  --env, -e NAME         a stage of wrangler.toml, such as staging
  --name NAME            another Worker than wrangler.toml names
  --help, -h             this

Handed on to wrangler as they are: --config, --cwd, --profile, --env-file.

Exit code: 1 when nothing was to be made or it failed, 2 called wrongly.`;

const OPTIONS = {
  env: { type: "string", short: "e" },
  name: { type: "string" },
  help: { type: "boolean", short: "h" },
  ...ACCOUNT_OPTIONS,
} as const;

/** The rules of config.ts. A secret that the Worker would refuse is not set. */
const USABLE_VALUE: Readonly<Record<SecretName, RegExp>> = {
  MASTER_KEY: /^[A-Za-z0-9+/]{43}=$/,
  ADMIN_TOKEN: /^[\x21-\x7e]{32,}$/,
};

export const main = command(import.meta, makeSecrets, "npm run secrets -- --help tells more.");

async function makeSecrets(args: string[], io: Io): Promise<number> {
  const {
    help,
    env = io.env.CLOUDFLARE_ENV ?? "",
    ...options
  } = readOptions("npm run secrets -- …", args, OPTIONS, { env: io.env }).values;
  if (help === true) {
    io.out(USAGE);
    return 0;
  }
  const { config: configFile = "wrangler.toml", cwd = "." } = options;
  // wrangler takes a second to load. It is loaded here, so that --help and a wrong option get an answer at once.
  const { unstable_readConfig } = await import("wrangler");
  const config = unstable_readConfig({ config: resolve(io.root, cwd, configFile), env }, { hideWarnings: true });
  const worker = options.name ?? config.name ?? "";
  const file = join(homedir(), `${worker}.secrets`);
  const wrangler = secretOptions(env, options);

  const set = await secretsOf(wrangler, io);
  const missing = SECRET_NAMES.filter((name) => !set.includes(name));
  if (missing.length === 0) throw new NotDeployed(nothingToMake(worker, file, env));
  const storedValues = valuesIn(file);
  const made = missing.filter((name) => storedValues.get(name) === "");
  refuseUnusable(
    file,
    new Map(missing.filter((name) => !made.includes(name)).map((name) => [name, storedValues.get(name) ?? ""])),
  );
  if (made.includes("MASTER_KEY"))
    await refuseDatabases(worker, file, config.d1_databases, sharedOptions(env, options), io);

  if (made.length > 0) {
    // The file is on disk before anything is sealed with its key. "wx" fails when another process made the file meanwhile.
    const lines = linesOf(made);
    if (existsSync(file)) writeFileSync(file, missingLineEnd(file) + lines, { flag: "a", flush: true });
    else writeFileSync(file, lines, { flag: "wx", mode: 0o600, flush: true });
    io.out(`Wrote ${made.join(" and ")} into ${file}.`);
  }
  const values = valuesIn(file);
  const input = JSON.stringify(Object.fromEntries(missing.map((name) => [name, values.get(name)])));
  const { exitCode, output } = await io.wrangler(["secret", "bulk", ...wrangler], input);
  if (exitCode !== 0) {
    throw new NotDeployed(
      `${missing.join(" and ")} could not be set:\n${output}\nThe values are kept in ${file}. Run this again.`,
    );
  }
  for (const name of SECRET_NAMES) {
    if (!missing.includes(name)) io.out(`Worker ${worker} has a ${name} already. It stays.`);
  }
  io.out(`Worker ${worker} has ${missing.join(" and ")} of ${file}.
Keep that file somewhere safe, and remove it here. Without its MASTER_KEY, nothing that is sealed with it can be opened again.`);
  return 0;
}

/**
 * The names of a Worker's secrets. Empty when the Worker does not exist yet.
 *
 * @param worker options that find the Worker, from secretOptions
 * @throws NotDeployed
 */
async function secretsOf(worker: readonly string[], io: Io): Promise<string[]> {
  const { exitCode, stdout, output } = await io.wrangler(["secret", "list", ...worker]);
  if (exitCode === 0) return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
  if (/Worker ".*"( \(env: .*\))? not found/.test(output)) return [];
  throw new NotDeployed(`The account could not be asked for its secrets:\n${output}\n${LOGIN}`);
}

/** The value of each secret in a file; "" when the file does not have it. */
function valuesIn(file: string): Map<SecretName, string> {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  return new Map(SECRET_NAMES.map((name) => [name, lastValue(text, name)]));
}

/** The line end that a file lacks at its end; empty when the file has one. */
function missingLineEnd(file: string): string {
  return /(^|\n)$/.test(readFileSync(file, "utf8")) ? "" : "\n";
}

/** @throws NotDeployed for a value that breaks its rule, because it may have been cut off or typed by hand */
function refuseUnusable(file: string, values: ReadonlyMap<SecretName, string>): void {
  const unusable = [...values].filter(([name, value]) => !USABLE_VALUE[name].test(value)).map(([name]) => name);
  if (unusable.length === 0) return;
  throw new NotDeployed(
    `Nothing was changed: ${unusable.join(" and ")} in ${file} cannot be used. Put the right value there; or, if there never was one,
remove the line, and run this again.`,
  );
}

/** @throws NotDeployed when a database exists. Its secrets may be sealed with an existing key, and a new key would not open them */
async function refuseDatabases(
  worker: string,
  file: string,
  databases: readonly { database_name?: string }[],
  shared: readonly string[],
  io: Io,
): Promise<void> {
  const { exitCode, stdout, output } = await io.wrangler(["d1", "list", "--json", ...shared]);
  if (exitCode !== 0) throw new NotDeployed(`The account could not be asked for its databases:\n${output}`);
  const names = (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
  const databaseNames = databases.flatMap(({ database_name: name }) =>
    name !== undefined && names.includes(name) ? name : [],
  );
  if (databaseNames.length === 0) return;
  throw new NotDeployed(`Nothing was changed: Worker ${worker} has no MASTER_KEY, but its database is there: ${databaseNames.join(", ")}.
What is in it may be sealed with a key that somebody keeps, and a new one would not open it. Put that key into ${file},
as the line MASTER_KEY=…, and run this again. If there is none and nobody needs what is in the database, delete it first:

${databaseNames.map((name) => `  npx wrangler d1 delete ${name}`).join("\n")}`);
}

function nothingToMake(worker: string, file: string, env: string): string {
  const fileText = existsSync(file)
    ? `, and ${file} is as it was. Keep that file somewhere safe, and remove it here`
    : "";
  return `Nothing was changed: Worker ${worker} has ${SECRET_NAMES.join(" and ")} already${fileText}.
To change one on purpose: docs/operating/sites-and-secrets.md, "Rotating the master key"; for the token, npx wrangler secret put ADMIN_TOKEN --env ${JSON.stringify(env)}`;
}
