import type { Chance } from "../machine/chance.ts";

/** An app, as far as its owners know it. */
export interface KnownApp {
  appid: string;
  site: KnownSite;
  /** The secrets that the operator has handed out, the newest last. */
  secrets: { version: string; secret: string }[];
  /** Whether nobody uses the app any more. */
  isRevoked: boolean;
}

/** A webhook, as far as its owners know it. */
export interface KnownWebhook {
  id: string;
  url: string;
  /** The version of the secret in use. */
  version: string;
  site: KnownSite;
}

export interface KnownSite {
  siteId: number;
  home: string;
  apps: KnownApp[];
  /** Every agent whose creation was requested; some may not exist. */
  agentIds: number[];
  /** Chat ids from answers to callers. */
  chatIds: number[];
  webhooks: KnownWebhook[];
  /** Sessions that an operation must refuse, by the name of the refusal. */
  refusedSessions: Map<string, number[]>;
}

/** Stands for a new secret that nobody knows, because the answer was lost. */
export const LOST_SECRET = "nobody knows it";

/** Share of calls that a caller signs with an earlier secret. */
const OLD_SECRET = 0.1;

/** What people know of sites, apps, secrets and agents. The stored state may be newer. */
export class Company {
  readonly sites: KnownSite[] = [];
  /** Sites whose deletion was answered with success. */
  readonly endedSites: KnownSite[] = [];
  /** Receipts of erasures as JSON, which operators keep where no KV is bound. */
  readonly receipts = new Set<string>();
  /** Receipts of the ends of sites as JSON, which operators keep where no KV is bound. */
  readonly deletions = new Set<string>();
  /** Ended secrets, for callers and attackers who go on using them. */
  readonly oldSecrets: { appid: string; secret: string }[] = [];
  /** Milliseconds of virtual time until which hardly anybody acts, because it is night or everybody waits. */
  quietUntil = 0;
  /** Homes under restore. Operators do not change them. During a restore of `main` they make nothing in any home. */
  readonly underRestore = new Set<string>();

  get apps(): KnownApp[] {
    return this.sites.flatMap(({ apps }) => apps);
  }

  /** An app for a forged request: one of the company's, or an invented one when there is none. */
  anyApp(chance: Chance): Pick<KnownApp, "appid" | "secrets"> {
    const { apps } = this;
    return apps.length > 0 ? chance.one(apps) : { appid: "none", secrets: [] };
  }

  get sitesAtWork(): KnownSite[] {
    return this.underRestore.has("main") ? [] : this.sites.filter(({ home }) => !this.underRestore.has(home));
  }
}

/** The secret that a caller signs with: the newest known one, and sometimes an earlier one. */
export function secretInUse({ secrets }: KnownApp, chance: Chance): string {
  const texts = secrets.map(({ secret }) => secret).filter((secret) => secret !== LOST_SECRET);
  const old = texts.length > 1 && chance.happens(OLD_SECRET);
  return (old ? chance.one(texts.slice(-3, -1)) : texts.at(-1)) ?? LOST_SECRET;
}
