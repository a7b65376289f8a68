import type { Chance } from "../../machine/chance.ts";

/** An app as the people know it who own it. */
export interface KnownApp {
  appid: string;
  site: KnownSite;
  /** The secrets that the operator has handed out, the newest last. */
  secrets: { version: string; secret: string }[];
  /** Nobody uses it any longer. */
  revoked: boolean;
}

/** A webhook as the people know it who added it. */
export interface KnownWebhook {
  id: string;
  url: string;
  site: KnownSite;
}

export interface KnownSite {
  siteId: number;
  home: string;
  apps: KnownApp[];
  /** Every agent that was ever asked for; some may not exist. */
  agentIds: number[];
  /** Chat ids that callers were answered. */
  chatIds: number[];
  webhooks: KnownWebhook[];
  /** The last event that somebody has pulled. */
  pulled: number;
  /** Sessions that an operation is known to refuse, by the name of the refusal. */
  refusedSessions: Map<string, number[]>;
}

/** Stands for a secret that was made and whose answer was lost. */
export const LOST_SECRET = "nobody knows it";

/** Share of calls that a caller still signs with a secret of before. */
const OLD_SECRET = 0.1;

/** What people know: sites, apps with their secrets, agents. It may lag behind what is stored, as people do. */
export class Company {
  readonly sites: KnownSite[] = [];
  /** Secrets that were once in force, for whoever goes on using them. */
  readonly oldSecrets: { appid: string; secret: string }[] = [];
  /** Milliseconds of virtual time: until then hardly anybody does anything, because it is night or everybody waits. */
  quietUntil = 0;
  /** Homes that are being restored: operators leave them alone. While it is `main`, they make nothing anywhere. */
  readonly underRestore = new Set<string>();

  get apps(): KnownApp[] {
    return this.sites.flatMap(({ apps }) => apps);
  }

  /** Sites that operators may work on. */
  get sitesAtWork(): KnownSite[] {
    return this.underRestore.has("main") ? [] : this.sites.filter(({ home }) => !this.underRestore.has(home));
  }
}

/** The secret that a caller signs with: the newest that it was given, and now and then still one of before. */
export function secretInUse({ secrets }: KnownApp, chance: Chance): string {
  const given = secrets.map(({ secret }) => secret).filter((secret) => secret !== LOST_SECRET);
  const old = given.length > 1 && chance.happens(OLD_SECRET);
  return (old ? chance.one(given.slice(-3, -1)) : given.at(-1)) ?? LOST_SECRET;
}
