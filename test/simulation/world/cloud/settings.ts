import type { Chance } from "../../machine/chance.ts";

/** The settings of a deployment. All isolates that it starts have the same. */
export interface Settings {
  toleranceSeconds: number;
  replayLookMs: number;
  errorStatus: "by-cause" | "always-200";
  closedHomes: readonly string[];
  eventRetentionDays: number;
  journalDays: number;
  /** Base64. */
  masterKey: string;
  masterKeyPrevious?: string | undefined;
}

export const ADMIN_TOKEN = "simulated-admin-token-0123456789abcdef";

/** The limits of wrangler.toml, lowered so that a simulated flood exceeds them. */
export const LIMITS = {
  APP_LIMIT: { limit: 40, period: 10 },
  SITE_LIMIT: { limit: 70, period: 10 },
  CLIENT_LIMIT: { limit: 12, period: 60 },
} as const;

/** The binding of a home by the documentation's rule: `main` is DB, `eu` is HOME_EU. */
export const bindingOf = (home: string): string =>
  home === "main" ? "DB" : `HOME_${home.toUpperCase().replaceAll("-", "_")}`;

/** The secret that closes a home, by the documentation's rule. */
const closedSecret = (home: string): string => `CLOSED_${home.toUpperCase().replaceAll("-", "_")}`;

export const firstSettings = (chance: Chance): Settings => ({
  toleranceSeconds: 300,
  replayLookMs: chance.one([0, 1, 5]),
  errorStatus: chance.happens(0.1) ? "always-200" : "by-cause",
  closedHomes: [],
  eventRetentionDays: chance.one([30, 7, 1]),
  journalDays: chance.one([30, 90, 2, 1, 1]),
  masterKey: newMasterKey(chance),
});

export const newMasterKey = (chance: Chance): string => Buffer.from(chance.bytes(32)).toString("base64");

/** The settings as the Worker's env vars and secrets. */
export const varsOf = (settings: Settings): Record<string, string | undefined> => ({
  TIMESTAMP_TOLERANCE_SECONDS: String(settings.toleranceSeconds),
  REPLAY_LOOK_MS: String(settings.replayLookMs),
  ERROR_STATUS: settings.errorStatus,
  EVENT_RETENTION_DAYS: String(settings.eventRetentionDays),
  JOURNAL_DAYS: String(settings.journalDays),
  ...Object.fromEntries(settings.closedHomes.map((home) => [closedSecret(home), "closed"])),
  MASTER_KEY: settings.masterKey,
  MASTER_KEY_PREVIOUS: settings.masterKeyPrevious,
  ADMIN_TOKEN,
});
