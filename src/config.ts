import { accessSettings, accessWarnings, type SignInSettings } from "./access/settings.ts";
import { ServiceError } from "./errors.ts";
import {
  BINDING_RULE,
  bindingOfHome,
  CLOSED_LIST,
  closedBy,
  closedSecret,
  homeOfBinding,
  isMisnamed,
  MAIN_HOME,
  namesIn,
} from "./homes.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

/** The largest value that TIMESTAMP_TOLERANCE_SECONDS may have. */
export const MAX_TOLERANCE_SECONDS = 900;

/** The fewest days that events are kept: the eight attempts of a delivery take about 30 hours. */
const LEAST_EVENT_DAYS = 2;

/** A message of the queue: this webhook has deliveries that are due. The deliveries themselves are in the webhook's home. */
export interface Notice {
  home: string;
  site: number;
  webhook: string;
}

/** Bindings, vars and secrets as the runtime gives them. Any may be missing, because a deployment can be half configured. */
export type Bindings = Partial<Omit<Env, "EVENTS">> & {
  EVENTS?: Queue<Notice>;
  MASTER_KEY_PREVIOUS?: string;
  WEBHOOK_LOOPBACK?: string;
  /** Where the keys of Cloudflare Access are on this machine. No deployment sets it: see {@link accessSettings}. */
  ACCESS_CERTS_URL?: string;
  /** Not set by this release: see {@link CLOSED_LIST}. The secrets that close homes stand beside it, by the names of {@link closedSecret}. */
  CLOSED_HOMES?: string;
};

/** `Retry-After` for a closed site or home, in seconds. */
export const CLOSED_RETRY_SECONDS = 30;

/** How operators sign in to the console is part of it: {@link SignInSettings}. */
export interface Config extends SignInSettings {
  /** The database that knows the home of each site and the site of each appid. This database is also the home {@link MAIN_HOME}. */
  directory: D1Database;
  /** The databases with the sites' own data, by the names of the homes; MAIN_HOME comes first. See {@link homeDatabase}. */
  homes: ReadonlyMap<string, D1Database>;
  /** Homes whose sites get 503: those with a secret CLOSED_…. See {@link closedSecret}. */
  closedHomes: ReadonlySet<string>;
  nonces: KVNamespace | undefined;
  credentials: KVNamespace | undefined;
  appLimit: RateLimit | undefined;
  siteLimit: RateLimit | undefined;
  clientLimit: RateLimit | undefined;
  /** The queue that is notified when a webhook has deliveries that are due. */
  events: Queue<Notice> | undefined;
  /** The queue that brings refused calls into the journals of their homes. */
  journal: Queue | undefined;
  /** The var JOURNAL_DAYS: how long refused calls are kept. */
  journalDays: number;
  /** Whether failures answer HTTP 200: see {@link alwaysStatus200}. */
  alwaysStatus200: boolean;
  /** Whether a webhook's URL may be http on this machine. The var WEBHOOK_LOOPBACK, which no deployment sets. */
  webhookLoopback: boolean;
  /** The var EVENT_RETENTION_DAYS, at least {@link LEAST_EVENT_DAYS}: how long events and their deliveries are kept. */
  eventRetentionDays: number;
  /** 32 bytes each. The first key seals; all keys unseal. */
  masterKeys: [Uint8Array<ArrayBuffer>, ...Uint8Array<ArrayBuffer>[]];
  /**
   * Without surrounding white space. Undefined when the token is missing or unsafe: then the admin API and the console refuse
   * everything.
   */
  adminToken: string | undefined;
  /** Why `adminToken` is undefined. */
  adminTokenFault: AdminTokenFault | undefined;
  timestampToleranceSeconds: number;
  /** How long a request waits for KV's answer about its ranstr, in milliseconds since KV was asked. The var REPLAY_LOOK_MS. */
  replayCheckMs: number;
}

/** The configuration is wrong, so the deployment cannot serve. The message begins with the setting's name, and never holds its value. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
  readonly setting = this.message.split(" ", 1)[0] ?? "";
}

const ADMIN_TOKEN_MIN_LENGTH = 32;

/** What is wrong with ADMIN_TOKEN. The text ends a sentence that starts with "ADMIN_TOKEN", and holds no part of the token. */
export type AdminTokenFault =
  | "is not set"
  | "holds a line break"
  | "holds a blank"
  | "holds a control character"
  | "holds a character that is not ASCII"
  | "is shorter than 32 characters"
  | "is a placeholder";

const read = new WeakMap<Bindings, Config>();

/**
 * The deployment's configuration. It is parsed once per isolate, which then logs a warning for each optional setting that is
 * missing.
 *
 * @throws ConfigurationError when DB or MASTER_KEY is missing, or a value cannot be used
 */
export function readConfig(env: Bindings, telemetry: Telemetry): Config {
  const known = read.get(env);
  if (known !== undefined) return known;
  const config = parse(env);
  for (const binding of ["NONCES", "CREDENTIALS"] as const) {
    if (env[binding] === undefined) telemetry.warn({ warning: `${binding} is not bound: D1 decides alone` });
  }
  if (env.EVENTS === undefined) telemetry.warn({ warning: "EVENTS is not bound: webhooks get nothing" });
  if (env.JOURNAL === undefined) telemetry.warn({ warning: "JOURNAL is not bound: refused calls are in the log only" });
  if (config.adminTokenFault !== undefined) {
    const warning = `ADMIN_TOKEN ${config.adminTokenFault}: the admin API and the console refuse everything`;
    telemetry.warn({ warning });
  }
  for (const warning of accessWarnings(config, env)) telemetry.warn({ warning });
  if (env.EVENT_RETENTION_DAYS !== undefined && Number(env.EVENT_RETENTION_DAYS) < LEAST_EVENT_DAYS) {
    const warning = `EVENT_RETENTION_DAYS is taken as ${LEAST_EVENT_DAYS}: the attempts of a delivery take about 30 hours`;
    telemetry.warn({ warning });
  }
  for (const name of config.closedHomes) {
    if (config.homes.has(name)) continue;
    telemetry.warn({ warning: `${closedSecret(name)} closes ${name}, and there is no such home` });
  }
  const listed = namesIn(env[CLOSED_LIST]);
  if (listed.length > 0) {
    const warning = `${CLOSED_LIST} is of a release before this one, and closes ${listed.join(", ")}: npm run deploy makes secrets of it`;
    telemetry.warn({ warning });
  }
  read.set(env, config);
  return config;
}

/**
 * Whether failures answer HTTP 200, for callers that read only `code`. Not only a part of Config: the answer to a wrong
 * configuration needs it too.
 */
export const alwaysStatus200 = (env: Bindings): boolean => env.ERROR_STATUS === "always-200";

/**
 * The database of a home.
 *
 * @throws ServiceError `unavailable`, reason `home_unbound`, when the deployment has no such home
 */
export function homeDatabase({ homes }: Pick<Config, "homes">, home: string): D1Database {
  const db = homes.get(home);
  if (db !== undefined) return db;
  throw new ServiceError("unavailable", {
    reason: "home_unbound",
    detail: homeUnbound(home),
    retryAfter: CLOSED_RETRY_SECONDS,
  });
}

export const homeUnbound = (home: string): string =>
  `The home ${home} has no database: bind it as ${bindingOfHome(home)}.`;

/** The refusal of a call whose home is closed. */
export const homeClosed = (home: string) =>
  ({ reason: "home_closed", detail: `The home ${home} is closed.`, retryAfter: CLOSED_RETRY_SECONDS }) as const;

/**
 * Finds the homes by the names of their bindings, because the generated types do not list them. A var with such a name is no home.
 */
function homesOf(env: Record<string, unknown>, directory: D1Database): Map<string, D1Database> {
  const homes = new Map([[MAIN_HOME, directory]]);
  for (const [binding, db] of Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!isDatabase(db)) continue;
    if (isMisnamed(binding)) throw new ConfigurationError(`${binding} is no home. ${BINDING_RULE}`);
    const home = homeOfBinding(binding);
    if (home !== undefined) homes.set(home, db);
  }
  return homes;
}

const isDatabase = (binding: unknown): binding is D1Database =>
  typeof binding === "object" && binding !== null && "prepare" in binding && "batch" in binding;

/**
 * The databases of a deployment, and which homes are closed: what is there also while another setting is wrong.
 *
 * @throws ConfigurationError when DB is missing, or a home's binding has a wrong name
 */
export function readDatabases(env: Bindings): Pick<Config, "directory" | "homes" | "closedHomes"> {
  if (env.DB === undefined) throw new ConfigurationError("DB is not bound");
  return { directory: env.DB, homes: homesOf({ ...env }, env.DB), closedHomes: new Set(closedBy({ ...env })) };
}

function parse(env: Bindings): Config {
  const databases = readDatabases(env);
  if (env.MASTER_KEY === undefined || env.MASTER_KEY === "") throw new ConfigurationError("MASTER_KEY is not set");
  const previous = env.MASTER_KEY_PREVIOUS;
  checkErrorStatus(env.ERROR_STATUS);
  return {
    ...databases,
    nonces: env.NONCES,
    credentials: env.CREDENTIALS,
    appLimit: env.APP_LIMIT,
    siteLimit: env.SITE_LIMIT,
    clientLimit: env.CLIENT_LIMIT,
    events: env.EVENTS,
    alwaysStatus200: alwaysStatus200(env),
    journal: env.JOURNAL,
    journalDays: wholeNumber("JOURNAL_DAYS", env.JOURNAL_DAYS ?? "30", 90, 1),
    webhookLoopback: webhookLoopback(env.WEBHOOK_LOOPBACK),
    eventRetentionDays: Math.max(
      LEAST_EVENT_DAYS,
      wholeNumber("EVENT_RETENTION_DAYS", env.EVENT_RETENTION_DAYS ?? "30", 3_650, 1),
    ),
    masterKeys: [
      masterKey("MASTER_KEY", env.MASTER_KEY),
      ...(previous === undefined || previous === "" ? [] : [masterKey("MASTER_KEY_PREVIOUS", previous)]),
    ],
    ...adminToken(env.ADMIN_TOKEN),
    ...accessSettings(env),
    timestampToleranceSeconds: wholeNumber(
      "TIMESTAMP_TOLERANCE_SECONDS",
      env.TIMESTAMP_TOLERANCE_SECONDS ?? "300",
      MAX_TOLERANCE_SECONDS,
    ),
    replayCheckMs: wholeNumber("REPLAY_LOOK_MS", env.REPLAY_LOOK_MS ?? "1", 1_000),
  };
}

function masterKey(name: string, value: string): Uint8Array<ArrayBuffer> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Uint8Array.fromBase64(value);
  } catch {
    throw new ConfigurationError(`${name} is not base64`);
  }
  if (bytes.length !== 32) throw new ConfigurationError(`${name} must be 32 bytes in base64`);
  if (bytes.every((byte) => byte === bytes[0])) throw new ConfigurationError(`${name} is a placeholder`);
  return bytes;
}

/** Trims the token: a token that was set from a file ends with a line break, which no operator types. */
function adminToken(value = ""): Pick<Config, "adminToken" | "adminTokenFault"> {
  const token = value.trim();
  const fault = adminTokenFault(token);
  return { adminToken: fault === undefined ? token : undefined, adminTokenFault: fault };
}

function adminTokenFault(token: string): AdminTokenFault | undefined {
  if (token === "") return "is not set";
  if (/[\r\n]/.test(token)) return "holds a line break";
  if (/\s/.test(token)) return "holds a blank";
  if (/\p{Cc}/u.test(token)) return "holds a control character";
  if (/[^\x21-\x7e]/.test(token)) return "holds a character that is not ASCII";
  if (token.length < ADMIN_TOKEN_MIN_LENGTH) return "is shorter than 32 characters";
  if (/^(change|replace|your|example|placeholder)/i.test(token) || new Set(token).size < 8) return "is a placeholder";
  return undefined;
}

function wholeNumber(name: string, value: string, most: number, least = 0): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number > most || number < least)
    throw new ConfigurationError(`${name} must be a whole number ${least === 0 ? "" : `from ${least} `}up to ${most}`);
  return number;
}

function webhookLoopback(value = ""): boolean {
  if (value === "" || value === "allow") return value === "allow";
  throw new ConfigurationError('WEBHOOK_LOOPBACK must be "allow" or absent');
}

function checkErrorStatus(value: string | undefined): void {
  if (value === undefined || value === "by-cause" || value === "always-200") return;
  throw new ConfigurationError('ERROR_STATUS must be "by-cause" or "always-200"');
}
