/** `npm run deploy`: creates missing databases and queues, migrates, then deploys. */
import { basename, resolve } from "node:path";
import { homeOfBinding, MAIN_HOME, namesIn } from "../homes.ts";
import { closeHomes } from "./close-homes.ts";
import { command } from "./command.ts";
import { createDatabases, NotDeployed } from "./create-databases.ts";
import { createQueues } from "./create-queues.ts";
import { type ConfigPart, prepareDatabase } from "./edit-config.ts";
import { checkClosing, checkPlace, newHome } from "./home-options.ts";
import { closedByConfig, closedByOption, homesOf, labelOf, Misconfigured, requireHomes } from "./homes.ts";
import type { Io } from "./io.ts";
import { asArguments, readOptions, UsageError } from "./known-options.ts";
import { LiveWorker } from "./live-worker.ts";
import { type Database, migrate } from "./migrate.ts";
import { requireSecrets } from "./require-secrets.ts";
import { ACCOUNT_OPTIONS, secretOptions, sharedOptions, typedOptions } from "./wrangler-options.ts";

/** Vars for addresses of the machine itself, and what a deployment does instead. */
const LOCAL_ONLY = {
  WEBHOOK_LOOPBACK: "a deployment posts events to public https addresses only",
  ACCESS_CERTS_URL: "a deployment takes the keys of Access from its team only",
};

const USAGE = `npm run deploy -- [options]

  --home NAME            adds a home: makes its database, and binds it in wrangler.toml. With the name of a place below it is made there
  --location HINT        where a database that does not exist yet is made: weur, eeur, apac, oc, wnam or enam
  --jurisdiction NAME    or where its data must stay for ever: eu, us or fedramp
  --close HOME           refuses the requests of a home's sites with 503; may be repeated. Changes nothing else of what serves:
                         no new code, no migration, no database is asked. Only --env, --name, --dry-run and what chooses the account
                         may stand beside it
  --open HOME            serves them again, in the same way; may be repeated
  --env, -e NAME         a stage of wrangler.toml, such as staging
  --var NAME:VALUE       another value for one of [vars] in wrangler.toml; may be repeated
  --secrets-file FILE    secrets to set along with this version; nothing is asked about those that are missing
  --dry-run              builds, and neither makes nor changes anything
  --help, -h             this

Handed on to wrangler as they are: --name, --keep-vars, --outdir, --tag, --message, --route, --domain, --strict, --config, --cwd,
--profile, --env-file.

Exit code: 1 when it was not deployed, 2 called wrongly.`;

const OPTIONS = {
  home: { type: "string" },
  location: { type: "string" },
  jurisdiction: { type: "string" },
  close: { type: "string", multiple: true },
  open: { type: "string", multiple: true },
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
  ...ACCOUNT_OPTIONS,
} as const;

/** The options that --close and --open allow beside them. */
const BESIDE_CLOSING = ["name", "config", "cwd", "profile", "env-file", "dry-run"];

export const main = command(import.meta, deploy, "npm run deploy -- --help tells more.");

async function deploy(args: string[], io: Io): Promise<number> {
  // `env` goes to wrangler even when it is empty: without --env, wrangler warns about a file with several environments.
  const {
    help,
    env = io.env.CLOUDFLARE_ENV ?? "",
    home,
    location,
    jurisdiction,
    close = [],
    open = [],
    ...options
  } = readOptions("npm run deploy -- …", args, OPTIONS, { env: io.env }).values;
  if (help === true) {
    io.out(USAGE);
    return 0;
  }
  const place = { home, location, jurisdiction };
  checkPlace(place);
  for (const [name, why] of Object.entries(LOCAL_ONLY)) {
    if (options.var?.some((each) => each.startsWith(`${name}:`)))
      throw new UsageError(`--var ${name} is for npm start: ${why}.`);
  }
  const asked = { close, open };
  const closing = close.length + open.length > 0;
  if (closing) checkAlone({ ...place, ...options });
  const { config: file = "wrangler.toml", cwd = "." } = options;
  const target = { file: resolve(io.root, cwd, file), env };
  // wrangler takes a second to load. It is loaded here, so that --help and a wrong option are answered at once.
  const { unstable_readConfig } = await import("wrangler");
  const config = unstable_readConfig({ config: target.file, env }, { hideWarnings: true });
  for (const [name, why] of Object.entries(LOCAL_ONLY)) {
    if (config.vars[name] !== undefined)
      throw new Misconfigured(`${basename(target.file)} sets ${name}. Remove it: ${why}.`);
  }
  const added = home === undefined ? undefined : newHome(home, config.d1_databases);
  const databases = added === undefined ? config.d1_databases : [...config.d1_databases, added];
  const homes = homesOf(databases);
  const shared = sharedOptions(env, options);
  if (closing) {
    checkClosing(asked, homes);
    if (options["dry-run"] === true) return nothingChanged(target, io);
    const live = await LiveWorker.find(options.name ?? config.name ?? "", config.account_id, shared, io);
    await closeHomes(live, asked, { before: closedByConfig(config.vars, homes), homes, target }, io);
    return 0;
  }
  const byOption = closedByOption(options.var);
  const closed = byOption === undefined ? closedByConfig(config.vars, homes) : namesIn(byOption);
  requireHomes(closed, homes);

  if (options["dry-run"] === true) {
    if (added !== undefined) nothingChanged(target, io);
  } else {
    // With a file of secrets, wrangler itself checks that none is missing.
    if (options["secrets-file"] === undefined) {
      await requireSecrets(config.secrets?.required ?? [], secretOptions(env, options), typedOptions(env, options), io);
    }
    const addHome = added === undefined ? undefined : await prepareDatabase(target, added);
    await createQueues(config.queues, options.name ?? config.name ?? "", shared, io);
    await createDatabases(databases, place, shared, io);
    addHome?.();
    if (added !== undefined) io.out(`Bound home ${home} as ${added.binding} in ${basename(target.file)}. Commit it.`);
    for (const database of databases) await migrateHome(database, closed, target, shared, io);
    for (const name of closed) {
      io.out(`Home ${name} is closed: its sites answer 503 until npm run deploy -- --open ${name}.`);
    }
  }
  return io.handOver(["deploy", ...asArguments({ env, ...options })]);
}

/** @throws UsageError for an option that would need a deployment */
function checkAlone(options: Readonly<Record<string, unknown>>): void {
  const more = Object.keys(options).filter((name) => options[name] !== undefined && !BESIDE_CLOSING.includes(name));
  if (more.length === 0) return;
  throw new UsageError(
    `--close and --open deploy nothing: they change CLOSED_HOMES of what serves. Leave out ${more.map((name) => `--${name}`).join(", ")}.`,
  );
}

function nothingChanged({ file }: ConfigPart, io: Io): number {
  io.out(`${basename(file)} stays as it is: --dry-run.`);
  return 0;
}

/** @throws NotDeployed naming the home, unless it is closed: one broken home must not stop a deployment for the others. */
async function migrateHome(
  database: Database,
  closed: readonly string[],
  target: ConfigPart,
  shared: readonly string[],
  io: Io,
) {
  const { binding } = database;
  const migration = await migrate(database, { file: target.file, where: "--remote", shared }, io);
  if (migration.result === "up-to-date") return io.out(`${labelOf(binding)} is up to date.`);
  if (migration.result === "migrated") return io.out(`${labelOf(binding)} migrated.`);
  if (migration.result === "ahead") {
    return io.out(`${labelOf(binding)} is of a later version: ${migration.foreign.join(", ")} is applied there.`);
  }
  const home = homeOfBinding(binding);
  const named = home === undefined ? `Binding ${binding}` : `Home ${home} (${binding})`;
  const why = migration.result === "failed" ? migration.output : howToReplace(database, migration.foreign);
  if (home !== undefined && home !== MAIN_HOME && closed.includes(home)) {
    io.err(`${named} could not be migrated. It is closed, so the others are deployed without it:\n${why}`);
    return;
  }
  throw new NotDeployed(`${named} could not be migrated, so nothing was deployed:\n${why}`);
}

function howToReplace({ binding, database_name: name }: Database, foreign: readonly string[]): string {
  return `Database ${name} was made by another version, which cannot be migrated to this one: it has ${foreign.join(", ")}.
Give ${binding} another database_name in wrangler.toml to begin with a new one. Or, when nobody needs what is in it, delete it
(npx wrangler d1 delete ${name}), and run this again.`;
}
