import { ServiceError } from "./errors.ts";
import { BINDING_RULE, bindingOfHome, closedBy, homeOfBinding, isMisnamed, MAIN_HOME } from "./homes.ts";
import type { Violation } from "./rules.ts";

/** The largest value that TIMESTAMP_TOLERANCE_SECONDS may have. */
export const MAX_TOLERANCE_SECONDS = 900;

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
  /** The URL of Cloudflare Access's keys on a developer's machine. No deployment sets it. */
  ACCESS_CERTS_URL?: string;
  /** Only the previous release sets it: see CLOSED_LIST in homes.ts. This type does not list the secrets CLOSED_… of the homes. */
  CLOSED_HOMES?: string;
};

/** `Retry-After` for a closed site or home, in seconds. */
export const CLOSED_RETRY_SECONDS = 30;

/** The settings that the two calls need. */
export interface Config {
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
  /** Whether failures answer HTTP 200: see {@link alwaysStatus200}. */
  alwaysStatus200: boolean;
  /** Whether callers may drill: the var DRILLS. */
  drills: boolean;
  /** 32 bytes each. The first key seals; all keys unseal. */
  masterKeys: [Uint8Array<ArrayBuffer>, ...Uint8Array<ArrayBuffer>[]];
  timestampToleranceSeconds: number;
  /** How long a request waits for KV's answer about its ranstr, in milliseconds since KV was asked. The var REPLAY_LOOK_MS. */
  replayCheckMs: number;
}

/** The configuration is wrong, so the deployment cannot serve. The message begins with the setting's name, and never holds its value. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
  readonly setting = this.message.split(" ", 1)[0] ?? "";
}

/**
 * Whether failures answer HTTP 200, for callers that read only `code`. It can be read without a Config, because the answer to a wrong
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
    violations: [homeUnbound(home)],
    retryAfter: CLOSED_RETRY_SECONDS,
  });
}

export const homeUnbound = (home: string): Violation => ({ rule: "home_bound", values: [home, bindingOfHome(home)] });

export const homeClosed = (home: string) => ({
  reason: "home_closed",
  violations: [{ rule: "home_open", values: [home] }] satisfies Violation[],
  retryAfter: CLOSED_RETRY_SECONDS,
});

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
 * The databases of a deployment and its closed homes. They can be read even when another setting is wrong.
 *
 * @throws ConfigurationError when DB is missing, or a home's binding has a wrong name
 */
export function readDatabases(env: Bindings): Pick<Config, "directory" | "homes" | "closedHomes"> {
  if (env.DB === undefined) throw new ConfigurationError("DB is not bound");
  return { directory: env.DB, homes: homesOf({ ...env }, env.DB), closedHomes: new Set(closedBy({ ...env })) };
}

/**
 * Parses the settings that the two calls need.
 *
 * @throws ConfigurationError when DB or MASTER_KEY is missing, or a value cannot be used
 */
export function readCore(env: Bindings): Config {
  const databases = readDatabases(env);
  if (env.MASTER_KEY === undefined || env.MASTER_KEY === "") throw new ConfigurationError("MASTER_KEY is not set");
  const previous = env.MASTER_KEY_PREVIOUS;
  requireOneOf("ERROR_STATUS", env.ERROR_STATUS, ["by-cause", "always-200"]);
  requireOneOf("DRILLS", env.DRILLS, ["on", "off"]);
  return {
    ...databases,
    nonces: env.NONCES,
    credentials: env.CREDENTIALS,
    appLimit: env.APP_LIMIT,
    siteLimit: env.SITE_LIMIT,
    clientLimit: env.CLIENT_LIMIT,
    events: env.EVENTS,
    alwaysStatus200: alwaysStatus200(env),
    drills: env.DRILLS !== "off",
    masterKeys: [
      masterKey("MASTER_KEY", env.MASTER_KEY),
      ...(previous === undefined || previous === "" ? [] : [masterKey("MASTER_KEY_PREVIOUS", previous)]),
    ],
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

/** @throws ConfigurationError unless `value` is a whole number from `least` to `most` */
export function wholeNumber(name: string, value: string, most: number, least = 0): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number > most || number < least)
    throw new ConfigurationError(`${name} must be a whole number ${least === 0 ? "" : `from ${least} `}up to ${most}`);
  return number;
}

function requireOneOf(name: string, value: string | undefined, [first, second]: [string, string]): void {
  if (value === undefined || value === first || value === second) return;
  throw new ConfigurationError(`${name} must be "${first}" or "${second}"`);
}
