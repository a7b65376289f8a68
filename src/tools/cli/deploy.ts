/** `npm run deploy`: creates missing databases and queues, migrates, then deploys. */
import { basename, resolve } from "node:path";
import { CLOSED_LIST, homeOfBinding, MAIN_HOME } from "../../core/homes.ts";
import { requireSameHomes } from "./check-homes.ts";
import { carryOverClosedHomes, closeHomes, tellClosed } from "./close-homes.ts";
import { command } from "./command.ts";
import { createDatabases, NotDeployed } from "./create-databases.ts";
import { createQueues } from "./create-queues.ts";
import { type ConfigPart, prepareDatabase } from "./edit-config.ts";
import { checkClosing, checkPlace, newHome } from "./home-options.ts";
import { closesHomes, homesOf, labelOf, Misconfigured, refuseClosing, requireHomes } from "./homes.ts";
import type { Io } from "./io.ts";
import { asArguments, readOptions, UsageError } from "./known-options.ts";
import { LiveWorker } from "./live-worker.ts";
import { type Database, migrate } from "./migrate.ts";
import { requireSecrets } from "./require-secrets.ts";
import { ACCOUNT_OPTIONS, sharedOptions, typedOptions } from "./wrangler-options.ts";

/** Vars for addresses of the machine itself, and what a deployment does without them. */
const LOCAL_ONLY: Readonly<Record<string, string>> = {
  WEBHOOK_LOOPBACK: "a deployment posts events to public https addresses only",
  ACCESS_CERTS_URL: "a deployment takes the keys of Access from its team only",
};

const CLOSE_INSTEAD =
  "No file and no --var says which homes are closed, because another checkout would open them. Remove it. What it has closed stays closed; to close a home: npm run deploy -- --close NAME";

const USAGE = `npm run deploy -- [options]

  --home NAME            adds a home: makes its database, and binds it in wrangler.toml. With the name of a place below it is made there
  --location HINT        where a database that does not exist yet is made: weur, eeur, apac, oc, wnam or enam
  --jurisdiction NAME    or where the database, and nothing else, must stay for ever: eu, us or fedramp
  --drop-home NAME       takes a home away that the configuration does not have any more; may be repeated. Without it, a deployment
                         that lacks a home which serves is refused
  --older                deploys although a database has migrations of a later release
  --close HOME           refuses the requests of a home's sites with 503, in all later deployments too; may be repeated. Changes
                         nothing else of what serves: no new code, no migration, no database is asked, no file is written. Only
                         --env, --name, --dry-run and what chooses the account may stand beside it
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
  "drop-home": { type: "string", multiple: true },
  older: { type: "boolean" },
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

/** The options that are allowed beside --close and --open. */
const BESIDE_CLOSING = ["name", "config", "cwd", "profile", "env-file", "dry-run"];

export const main = command(import.meta, deploy, "npm run deploy -- --help tells more.");

async function deploy(args: string[], io: Io): Promise<number> {
  // `env` is passed to wrangler even when it is empty. Without --env, wrangler warns about a file with several environments.
  const {
    help,
    env = io.env.CLOUDFLARE_ENV ?? "",
    home,
    location,
    jurisdiction,
    close = [],
    open = [],
    "drop-home": dropped = [],
    older = false,
    ...options
  } = readOptions("npm run deploy -- …", args, OPTIONS, { env: io.env }).values;
  if (help === true) {
    io.out(USAGE);
    return 0;
  }
  const place = { home, location, jurisdiction };
  checkPlace(place);
  for (const [name = ""] of (options.var ?? []).map((each) => each.split(":", 1))) {
    if (Object.hasOwn(LOCAL_ONLY, name)) throw new UsageError(`--var ${name} is for npm start: ${LOCAL_ONLY[name]}.`);
    if (closesHomes(name)) throw new UsageError(`--var ${name}: ${CLOSE_INSTEAD}`);
  }
  if (dropped.includes(MAIN_HOME)) throw new UsageError("The home main cannot be dropped: it is the directory.");
  const closedAndOpened = { close, open };
  const changesHomes = close.length + open.length > 0;
  if (changesHomes) {
    const otherOptions = { "drop-home": dropped.length > 0 || undefined, older: older || undefined };
    checkAlone({ ...place, ...otherOptions, ...options });
    checkClosing(closedAndOpened);
  }
  const { config: file = "wrangler.toml", cwd = "." } = options;
  const target = { file: resolve(io.root, cwd, file), env };
  // wrangler takes a second to load. It is loaded here, so that --help and a wrong option get an answer at once.
  const { unstable_readConfig } = await import("wrangler");
  const config = unstable_readConfig({ config: target.file, env }, { hideWarnings: true });
  const addedHome = home === undefined ? undefined : newHome(home, config.d1_databases);
  const databases = addedHome === undefined ? config.d1_databases : [...config.d1_databases, addedHome];
  const homes = homesOf(databases);
  const shared = sharedOptions(env, options);
  const worker = options.name ?? config.name ?? "";
  const find = () => LiveWorker.find(worker, config.account_id, shared, io);
  if (changesHomes) {
    // The serving Worker may have homes that this checkout lacks. A dry run does not ask it.
    if (options["dry-run"] === true) {
      requireHomes([...close, ...open], homes);
      io.out(`Worker ${worker} stays as it is: --dry-run.`);
    } else await closeHomes(await find(), closedAndOpened, homes, io);
    return 0;
  }
  refuseVars(config.vars, basename(target.file));
  const { "secrets-file": secretsFile } = options;
  if (secretsFile !== undefined) refuseClosing(resolve(io.root, cwd, secretsFile), CLOSE_INSTEAD);
  const bound = homes.filter((home) => dropped.includes(home));
  if (bound.length > 0) {
    throw new UsageError(`--drop-home ${bound.join(", ")}: first remove its binding from ${basename(target.file)}.`);
  }

  if (options["dry-run"] === true) {
    if (addedHome !== undefined) io.out(`${basename(target.file)} stays as it is: --dry-run.`);
  } else {
    const live = await find();
    let serving = await live.servingIfAny();
    // With a file of secrets, wrangler itself checks that no secret is missing.
    if (secretsFile === undefined) {
      requireSecrets(config.secrets?.required ?? [], serving?.secrets ?? [], typedOptions(env, options));
    }
    if (serving !== undefined) await requireSameHomes(live, serving, databases, dropped);
    const closed = serving?.closed ?? [];
    const addHome = addedHome === undefined ? undefined : await prepareDatabase(target, addedHome);
    await createQueues(config.queues, worker, shared, io);
    await createDatabases(databases, place, shared, io);
    addHome?.();
    if (addedHome !== undefined)
      io.out(`Bound home ${home} as ${addedHome.binding} in ${basename(target.file)}. Commit it.`);
    const skipped = new Set<string>();
    for (const database of databases) {
      const home = await migrateHome(database, { closed, older }, target, shared, io);
      if (home !== undefined) skipped.add(home);
    }
    // Migrations take a while. Somebody may have closed or added a home meanwhile.
    serving = await live.servingIfAny();
    if (serving !== undefined) {
      await requireSameHomes(live, serving, databases, dropped);
      for (const home of skipped) {
        if (!serving.closed.includes(home)) throw new NotDeployed(openedMeanwhile(home));
      }
      await carryOverClosedHomes(live, serving, io);
      for (const name of serving.closed) tellClosed(name, false, io);
    }
    // --keep-vars keeps this var for ever. Its homes are closed by secrets now, so it would go on closing a home that is opened later.
    const keepsList = serving?.list !== undefined && (options["keep-vars"] === true || config.keep_vars === true);
    if (keepsList) options.var = [...(options.var ?? []), `${CLOSED_LIST}:`];
  }
  return io.handOver(["deploy", ...asArguments({ env, ...options })]);
}

/** @throws UsageError for an option that needs a deployment */
function checkAlone(options: Readonly<Record<string, unknown>>): void {
  const unusableOptions = Object.keys(options).filter(
    (name) => options[name] !== undefined && !BESIDE_CLOSING.includes(name),
  );
  if (unusableOptions.length === 0) return;
  throw new UsageError(
    `--close and --open deploy nothing: they set and delete a secret of what serves. Leave out ${unusableOptions.map((name) => `--${name}`).join(", ")}.`,
  );
}

/** @throws Misconfigured for a var that a deployment's file may not hold */
function refuseVars(vars: Readonly<Record<string, unknown>>, file: string): void {
  for (const name of Object.keys(vars)) {
    if (Object.hasOwn(LOCAL_ONLY, name))
      throw new Misconfigured(`${file} sets ${name}. Remove it: ${LOCAL_ONLY[name]}.`);
    if (closesHomes(name)) throw new Misconfigured(`${file} sets ${name}. ${CLOSE_INSTEAD}`);
  }
}

const openedMeanwhile = (home: string) =>
  `Nothing was deployed: somebody has opened home ${home}, which could not be migrated. Close it, or mend its database, and run this again.`;

/**
 * @returns the name of a closed home that could not be migrated. One broken home must not stop a deployment for the others
 * @throws NotDeployed with the name of an open home that could not be migrated
 */
async function migrateHome(
  database: Database,
  { closed, older }: { closed: readonly string[]; older: boolean },
  target: ConfigPart,
  shared: readonly string[],
  io: Io,
): Promise<string | undefined> {
  const { binding } = database;
  const migration = await migrate(database, { file: target.file, where: "--remote", shared }, io);
  if (migration.result === "up-to-date" || migration.result === "migrated") {
    io.out(`${labelOf(binding)} ${migration.result === "migrated" ? "migrated" : "is up to date"}.`);
    return undefined;
  }
  if (migration.result === "ahead") {
    const why = `${labelOf(binding)} is of a later version: ${migration.foreign.join(", ")} is applied there.`;
    if (older) {
      io.out(why);
      return undefined;
    }
    throw new NotDeployed(
      `Nothing was deployed: ${why}\nBring the checkout up to date. Or, to go back to this release on purpose: npm run deploy -- --older`,
    );
  }
  const home = homeOfBinding(binding);
  const homeAndBinding = home === undefined ? `Binding ${binding}` : `Home ${home} (${binding})`;
  const why = migration.result === "failed" ? migration.output : replacementAdvice(database, migration.foreign);
  if (home !== undefined && home !== MAIN_HOME && closed.includes(home)) {
    io.err(`${homeAndBinding} could not be migrated. It is closed, so the others are deployed without it:\n${why}`);
    return home;
  }
  throw new NotDeployed(`${homeAndBinding} could not be migrated, so nothing was deployed:\n${why}`);
}

function replacementAdvice({ binding, database_name: name }: Database, foreign: readonly string[]): string {
  return `Database ${name} was made by another version, which cannot be migrated to this one: it has ${foreign.join(", ")}.
Give ${binding} another database_name in wrangler.toml to begin with a new one. Or, when nobody needs what is in it, delete it
(npx wrangler d1 delete ${name}), and run this again.`;
}
