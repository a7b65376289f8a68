import type { Chance } from "../machine/chance.ts";

/** An app, as far as its owners know it. */
export interface KnownApp {
  appid: string;
  site: KnownSite;
  /** The secrets that the operator has handed out, the newest last. */
  secrets: { version: string; secret: string }[];
  /** Whether the app is no longer used. */
  revoked: boolean;
}

/** A webhook, as far as its owners know it. */
export interface KnownWebhook {
  id: string;
  url: string;
  /** The version of the secret in place. */
  version: string;
  site: KnownSite;
}

export interface KnownSite {
  siteId: number;
  home: string;
  apps: KnownApp[];
  /** Every agent that was ever requested; some may not exist. */
  agentIds: number[];
  /** Chat ids from answers to callers. */
  chatIds: number[];
  webhooks: KnownWebhook[];
  /** Sessions that an operation must refuse, by the name of the refusal. */
  refusedSessions: Map<string, number[]>;
}

/** Stands for a new secret whose answer was lost. */
export const LOST_SECRET = "nobody knows it";

/** Share of calls that a caller still signs with an earlier secret. */
const OLD_SECRET = 0.1;

/** The people's knowledge of sites, apps, secrets and agents. It may be older than the stored state. */
export class Company {
  readonly sites: KnownSite[] = [];
  /** Sites whose end was answered. */
  readonly endedSites: KnownSite[] = [];
  /** Receipts of erasures and deletions that operators keep, where no KV is bound: each as JSON. */
  readonly receipts = new Set<string>();
  /** The ends of sites that operators keep, where no KV is bound: each as JSON. */
  readonly deletions = new Set<string>();
  /** Ended secrets, for callers and attackers who go on using them. */
  readonly oldSecrets: { appid: string; secret: string }[] = [];
  /** Milliseconds of virtual time until which hardly anybody acts, because it is night or everybody waits. */
  quietUntil = 0;
  /** Homes under restore: operators leave them alone. During a restore of `main` they make nothing anywhere. */
  readonly underRestore = new Set<string>();

  get apps(): KnownApp[] {
    return this.sites.flatMap(({ apps }) => apps);
  }

  /** An app to name: when none is left, one that never was. */
  anyApp(chance: Chance): Pick<KnownApp, "appid" | "secrets"> {
    const { apps } = this;
    return apps.length > 0 ? chance.one(apps) : { appid: "none", secrets: [] };
  }

  get sitesAtWork(): KnownSite[] {
    return this.underRestore.has("main") ? [] : this.sites.filter(({ home }) => !this.underRestore.has(home));
  }
}

/** The secret that a caller signs with: the newest one that it has, and sometimes an earlier one. */
export function secretInUse({ secrets }: KnownApp, chance: Chance): string {
  const given = secrets.map(({ secret }) => secret).filter((secret) => secret !== LOST_SECRET);
  const old = given.length > 1 && chance.happens(OLD_SECRET);
  return (old ? chance.one(given.slice(-3, -1)) : given.at(-1)) ?? LOST_SECRET;
}
