import { type Bindings, ConfigurationError, type Config as Core, readCore, wholeNumber } from "./core/config.ts";
import { CLOSED_LIST, closedSecret, namesIn } from "./core/homes.ts";
import type { Telemetry } from "./core/telemetry/telemetry.ts";
import { accessSettings, accessWarnings, type SignInSettings } from "./operators/access/settings.ts";

/** The fewest days that events are kept. The eight attempts of a delivery take about 30 hours. */
const LEAST_EVENT_DAYS = 2;

/** The settings of the whole deployment, with those for the sign-in of operators to the console: {@link SignInSettings}. */
export interface Config extends Core, SignInSettings {
  /** The queue that brings refused calls into the journals of their homes. */
  journal: Queue | undefined;
  /** The var JOURNAL_DAYS: how long refused calls are kept. */
  journalDays: number;
  /** The var AUDIT_DAYS: how long rows of the audit log are kept, except receipts. */
  auditDays: number;
  /** How often one token for programs, or one person in the console, may change or read something. */
  tokenChanges: RateLimit | undefined;
  tokenReads: RateLimit | undefined;
  /** Whether a webhook's URL may be http on this machine. The var WEBHOOK_LOOPBACK, which no deployment sets. */
  webhookLoopback: boolean;
  /** The var EVENT_RETENTION_DAYS, at least {@link LEAST_EVENT_DAYS}: how long events and their deliveries are kept. */
  eventRetentionDays: number;
  /**
   * The token without surrounding white space. Undefined when the token is missing or unsafe: then the admin API and the console
   * refuse everything.
   */
  adminToken: string | undefined;
  /** Why `adminToken` is undefined. */
  adminTokenFault: AdminTokenFault | undefined;
}

const ADMIN_TOKEN_MIN_LENGTH = 32;

/** What is wrong with ADMIN_TOKEN. The text ends a sentence that starts with "ADMIN_TOKEN", and holds no part of the token. */
export const ADMIN_TOKEN_FAULTS = [
  "is not set",
  "holds a line break",
  "holds a blank",
  "holds a control character",
  "holds a character that is not ASCII",
  "is shorter than 32 characters",
  "is a placeholder",
] as const;

export type AdminTokenFault = (typeof ADMIN_TOKEN_FAULTS)[number];

const parsedConfigs = new WeakMap<Bindings, Config>();

/**
 * The deployment's configuration. It is parsed once per isolate, which then logs a warning for each optional setting that is
 * missing.
 *
 * @throws ConfigurationError when DB or MASTER_KEY is missing, or a value cannot be used
 */
export function readConfig(env: Bindings, telemetry: Telemetry): Config {
  const known = parsedConfigs.get(env);
  if (known !== undefined) return known;
  const config = parseConfig(env);
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
  parsedConfigs.set(env, config);
  return config;
}

function parseConfig(env: Bindings): Config {
  return {
    ...readCore(env),
    journal: env.JOURNAL,
    journalDays: wholeNumber("JOURNAL_DAYS", env.JOURNAL_DAYS ?? "30", 90, 1),
    auditDays: wholeNumber("AUDIT_DAYS", env.AUDIT_DAYS ?? "730", 36_500, 90),
    tokenChanges: env.TOKEN_CHANGES,
    tokenReads: env.TOKEN_READS,
    webhookLoopback: webhookLoopback(env.WEBHOOK_LOOPBACK),
    eventRetentionDays: Math.max(
      LEAST_EVENT_DAYS,
      wholeNumber("EVENT_RETENTION_DAYS", env.EVENT_RETENTION_DAYS ?? "30", 3_650, 1),
    ),
    ...adminToken(env.ADMIN_TOKEN),
    ...accessSettings(env),
  };
}

/** Trims the token. A token that was set from a file ends with a line break, which an operator does not type. */
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

function webhookLoopback(value = ""): boolean {
  if (value === "" || value === "allow") return value === "allow";
  throw new ConfigurationError('WEBHOOK_LOOPBACK must be "allow" or absent');
}
