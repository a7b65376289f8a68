/** `npm start`: runs the Worker on this machine, ready to be called. */
import { existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { closedSecret } from "../../core/homes.ts";
import { plainEmail } from "../../operators/access/person-role.ts";
import { AccessFront } from "./access-front.ts";
import { command } from "./command.ts";
import { ensureDevSecrets } from "./dev-secrets.ts";
import { minutesOf } from "./drive-crons.ts";
import { endWithNpm } from "./end-with-npm.ts";
import { closesHomes, homesOf, labelOf, Misconfigured, refuseClosing, requireHomes } from "./homes.ts";
import type { Io } from "./io.ts";
import { asArguments, readOptions, UsageError } from "./known-options.ts";
import { freePort, isInUse, reachableAddress } from "./local-address.ts";
import { type Database, migrate } from "./migrate.ts";
import { serveLocally } from "./serve-locally.ts";

const USAGE = `npm start -- [options]

  --port PORT            where to listen; default 8787, 0 for any free port
  --ip ADDRESS           on which address; default localhost
  --var NAME:VALUE       another value for one of [vars] in wrangler.toml; may be repeated
  --env, -e NAME         a stage of wrangler.toml, such as staging
  --persist-to FOLDER    where state stays between runs; default .wrangler/state
  --close HOME           refuses the requests of a home's sites, as a deployment after --close; may be repeated
  --access EMAIL         plays Cloudflare Access before the console, and signs this person in: as an owner, unless --var gives
                         CONSOLE_OWNERS, CONSOLE_OPERATORS or CONSOLE_VIEWERS
  --env-file FILE        secrets from this file, not from .dev.vars; may be repeated
  --help, -h             this

Handed on to wrangler dev as they are: --config, --cwd, --inspector-port, --inspector-ip, --local-protocol, --https-key-path,
--https-cert-path, --live-reload, --log-level.

Exit code: 1 when it could not start, 2 called wrongly.`;

const OPTIONS = {
  port: { type: "string" },
  ip: { type: "string" },
  var: { type: "string", multiple: true },
  env: { type: "string", short: "e" },
  "persist-to": { type: "string" },
  close: { type: "string", multiple: true },
  access: { type: "string" },
  "env-file": { type: "string", multiple: true },
  help: { type: "boolean", short: "h" },
  config: { type: "string", short: "c" },
  cwd: { type: "string" },
  "inspector-port": { type: "string" },
  "inspector-ip": { type: "string" },
  "local-protocol": { type: "string" },
  "https-key-path": { type: "string" },
  "https-cert-path": { type: "string" },
  "live-reload": { type: "boolean" },
  "log-level": { type: "string" },
} as const;

const DEFAULT_PORT = 8787;

const CLOSE_INSTEAD = "Leave it out; to close a home here: npm start -- --close NAME";

if (import.meta.main) endWithNpm();
export const main = command(import.meta, start, "npm start -- --help tells more.");

async function start(args: string[], io: Io): Promise<number> {
  const {
    help,
    env = io.env.CLOUDFLARE_ENV ?? "",
    close = [],
    ...options
  } = readOptions("npm start -- …", args, OPTIONS, { env: io.env }).values;
  if (help === true) {
    io.out(USAGE);
    return 0;
  }
  const port = portOf(options.port);
  const person = personOf(options.access);
  // A port in use is found here. wrangler would report it after the text below, or without --port silently take the next port.
  if (await isInUse(options.ip ?? "localhost", port)) {
    io.err(
      `Port ${port} is in use, perhaps by another npm start. For another port: npm start -- --port PORT (0 for any that is free)`,
    );
    return 1;
  }
  const { config, cwd = ".", "persist-to": persistTo } = options;
  const configFile = resolve(io.root, cwd, config ?? "wrangler.toml");
  // wrangler takes a second to load. It is loaded here, so that --help and a wrong option get an answer at once.
  const { unstable_readConfig } = await import("wrangler");
  const {
    d1_databases: databases,
    vars,
    dev,
    triggers,
  } = unstable_readConfig({ config: configFile, env }, { hideWarnings: true });
  const protocol = (options["local-protocol"] ?? dev.local_protocol) === "https" ? "https" : "http";
  if (person !== undefined && protocol === "https") throw new UsageError("--access serves http only.");
  const homes = homesOf(databases);
  requireHomes(close, homes);
  const [typed] = (options.var ?? []).map((each) => each.split(":", 1)[0] ?? "").filter(closesHomes);
  if (typed !== undefined) throw new UsageError(`--var ${typed}: ${CLOSE_INSTEAD}`);
  const [written] = Object.keys(vars).filter(closesHomes);
  if (written !== undefined) throw new Misconfigured(`${basename(configFile)} sets ${written}. ${CLOSE_INSTEAD}`);
  // wrangler reads .dev.vars only when the environment has no file of its own.
  const environmentFile = `.dev.vars.${env}`;
  const file = env !== "" && existsSync(join(io.root, environmentFile)) ? environmentFile : ".dev.vars";
  const ownSecrets = options["env-file"] !== undefined;
  for (const each of options["env-file"] ?? [join(io.root, file)])
    refuseClosing(resolve(io.root, cwd, each), CLOSE_INSTEAD);
  if (!ownSecrets && !prepareSecrets(file, io)) return 1;
  // The folder of wrangler's local state. By default it is beside the configuration.
  const state =
    persistTo === undefined ? join(dirname(configFile), ".wrangler/state") : resolve(io.root, cwd, persistTo);
  const applied = await applyMigrations(
    databases,
    configFile,
    join(state, "v3"),
    asArguments({
      env,
      ...(config !== undefined && { config }),
      ...(options.cwd !== undefined && { cwd }),
      ...(persistTo !== undefined && { "persist-to": persistTo }),
    }),
    io,
  );
  if (applied !== 0) return applied;
  if (!ownSecrets) {
    const url = port === DEFAULT_PORT ? "" : ` --url http://localhost:${port === 0 ? "…" : port}`;
    io.out(`
The admin API's token is ADMIN_TOKEN in ${file}. Issue an app and an agent with it (README, "First call"), then, in another terminal:

  npm run call -- create_gd${url} --appid … --secret … '{"sbs":"customer_001","ip":"127.0.0.1","sbs_mc":"Wang Wei","content":"Hello","kefu_id":[10411],"fzr_uid":10411}'
`);
  }
  const { port: _, ip: _ip, "local-protocol": _protocol, access: _access, ...others } = options;
  const givenVars = options.var ?? [];
  const loopback = givenVars.some((each) => each.startsWith("WEBHOOK_LOOPBACK:")) ? [] : ["WEBHOOK_LOOPBACK:allow"];
  const closed = close.map((home) => `${closedSecret(home)}:${home}`);
  const crons: string[] = triggers.crons ?? [];
  for (const cron of crons.filter((each) => minutesOf(each) === undefined))
    io.out(`The cron ${cron} does not run here: npm start runs those of every few minutes only.`);
  const host = options.ip ?? dev.ip;
  const address = { protocol, host, port: port === 0 ? await freePort(host) : port } as const;
  const wranglerOptions = (vars: readonly string[]) =>
    asArguments({ env, ...others, var: [...givenVars, ...loopback, ...closed, ...vars] });
  if (person === undefined) return serveLocally(address, crons, wranglerOptions([]));
  const worker = { protocol, host: "127.0.0.1", port: await freePort("127.0.0.1") } as const;
  const front = await AccessFront.start(person, address, worker);
  const url = `http://${reachableAddress(address).host}:${address.port}`;
  const ready = () =>
    io.out(`
The console, with ${person} signed in by Access: ${url}/console
Use ${url} for all calls. The address that Wrangler names goes past Access.
`);
  try {
    return await serveLocally(worker, crons, wranglerOptions(front.varsBeside(givenVars)), ready);
  } finally {
    front.close();
  }
}

function personOf(personText: string | undefined): string | undefined {
  const email = personText === undefined ? undefined : plainEmail(personText);
  if (personText !== undefined && email === undefined)
    throw new UsageError(`--access ${personText} is no e-mail address.`);
  return email;
}

function portOf(portText: string | undefined): number {
  if (portText === undefined) return DEFAULT_PORT;
  if (/^\d{1,5}$/.test(portText) && Number(portText) <= 65_535) return Number(portText);
  throw new UsageError(`--port ${portText} is no number from 0 to 65535.`);
}

/** Makes missing secrets. @returns false when the Worker would refuse a secret in the file */
function prepareSecrets(file: string, io: Io): boolean {
  const { made, added, placeholders } = ensureDevSecrets(join(io.root, file));
  if (made) io.out(`Made ${file} with a random ${added.join(" and ")}. Keep it: what is stored is sealed with it.`);
  else if (added.length > 0) io.out(`Added a random ${added.join(" and ")} to ${file}, which had none.`);
  if (placeholders.length === 0) return true;
  io.err(
    `${placeholders.join(" and ")} in ${file} is a placeholder. Delete the line; the next npm start makes a random one.`,
  );
  return false;
}

/** Migrates the databases one after the other. @returns an exit code */
async function applyMigrations(
  databases: readonly Database[],
  file: string,
  state: string,
  shared: readonly string[],
  io: Io,
): Promise<number> {
  for (const database of databases) {
    const label = labelOf(database.binding);
    const migration = await migrate(database, { file, where: "--local", shared }, io);
    if (migration.result === "failed") {
      io.err(`${label} (${database.binding}) could not be migrated:\n${migration.output}`);
      return 1;
    }
    if (migration.result === "diverged") {
      io.err(`The local state was made by another version: ${label} (${database.binding}) has ${migration.foreign.join(", ")}.
It must be reset. That removes all sites, apps and sessions on this machine:

  rm -r ${shellWord(relativePath(state, io))}`);
      return 1;
    }
    io.out(migration.result === "migrated" ? `${label} migrated.` : `${label} is up to date.`);
  }
  return 0;
}

/** The path relative to the folder where the user called npm. */
function relativePath(path: string, io: Io): string {
  const near = relative(io.env.INIT_CWD ?? process.cwd(), path);
  return near.startsWith("..") ? path : near;
}

function shellWord(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
