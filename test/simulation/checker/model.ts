import type { BegunErasure } from "../erasure/rules/erasures.ts";
import type { Row, RowChange } from "../platform/database.ts";
import type { Call } from "../world/call.ts";
import { type App, HomeModel, put } from "./home-model.ts";

interface ListedReceipt {
  home: string;
  status: string;
  name: string;
  revision: number;
  firstChatId: number;
  /** Null when sessions are kept for ever. */
  retentionDays: number | null;
}

/** The begun deletion of a site. */
interface SiteEnd {
  id: string;
  /** Whether an answer has said that the site's deletion has begun. */
  isAnswered: boolean;
}

/** Whether the directory says that a site is being deleted, or is deleted. */
export const hasEnded = (site: { status: string } | undefined): boolean =>
  site?.status === "deleting" || site?.status === "deleted";

/** The state of the whole service, and its history as far as rules need it. */
export class Model {
  readonly homes = new Map<string, HomeModel>();
  /** The site of each appid, by the directory. */
  readonly routes = new Map<string, number>();
  /** The directory's row of each site. */
  readonly directory = new Map<number, ListedReceipt>();
  /** The secret of each version ever stored. */
  readonly secrets = new Map<string, string>();
  /** Every version that an app's secret has ever had, by appid. */
  readonly versions = new Map<string, Set<string>>();
  /** The call that used each ranstr, by appid. Never removed, because each ranstr has at most one effect. */
  readonly usedRanstrs = new Map<string, Call>();
  /** When a site was last opened, in milliseconds of virtual time, by home and site. */
  readonly reopenedAt = new Map<string, number>();
  /** Sites that an operator has changed since their home was restored, by home and site. */
  readonly changedSinceRestore = new Set<string>();
  /** The id of every site that was ever begun. */
  readonly givenSites = new Set<number>();
  /** Every chat id ever given, by home, site and id. */
  readonly givenIds = new Set<string>();
  /** Every seq ever given to an event, by home, site and seq. */
  readonly givenSeqs = new Set<string>();
  /** When a home was last restored, in Unix seconds. */
  readonly restoredAt = new Map<string, number>();
  /** The highest floors that each site ever had, by home and site. */
  readonly floors = new Map<string, { chatId: number; eventSeq: number }>();
  /** Every erasure of a customer that was begun, by id. */
  readonly erasures = new Map<string, BegunErasure>();
  /** The sessions that were erased, by home, site and id. */
  readonly erasedSessions = new Set<string>();
  /** The texts of messages that were erased. */
  readonly erasedTexts = new Set<string>();
  /** The begun deletions of sites, by home and site. */
  readonly ends = new Map<string, SiteEnd>();
  /** Whether KV holds the receipt of a site's end. Undefined when KV may hold nothing. */
  isEndInKv: ((home: string, siteId: number, id: string) => boolean) | undefined;
  mayKvLose = false;
  /** Whether KV is bound. Without KV, operators keep the receipts of erasures and of site ends. */
  isKvBound = true;
  /** The chat ids of a site that the receipts of erasures name. */
  receipts: ((home: string, siteId: number) => Record<"kv" | "directory", Set<number>>) | undefined;
  /** The highest chat id of an erasure, by its row, its receipts, and the receipts that operators keep. */
  knownUntil: (home: string, siteId: number, id: string) => number = () => 0;
  /** The meaning of each Idempotency-Key, by its row. A restore may bring back rows of calls that have ended. */
  readonly #fingerprints = new Map<string, string>();

  home(name: string): HomeModel {
    let home = this.homes.get(name);
    if (home === undefined) {
      home = new HomeModel(name);
      this.homes.set(name, home);
    }
    return home;
  }

  /** The app that the directory's route leads to: the route names a site, and the site names its home. */
  listedApp(appid: string): App | undefined {
    const home = this.homeOf(appid);
    return home === undefined ? undefined : this.homes.get(home)?.apps.get(`${this.routes.get(appid)}/${appid}`);
  }

  /** The home that the directory names for an app. */
  homeOf(appid: string): string | undefined {
    const siteId = this.routes.get(appid);
    const site = siteId === undefined ? undefined : this.directory.get(siteId);
    return hasEnded(site) ? undefined : site?.home;
  }

  /** Whether an answer has said that this site's deletion has begun. */
  isEndAnswered(home: string, siteId: number): boolean {
    return this.ends.get(`${home}/${siteId}`)?.isAnswered === true;
  }

  /** Whether the directory has a route to the app, and the site's home has the app. */
  hasRouted(appid: string): boolean {
    const siteId = this.routes.get(appid);
    if (siteId === undefined || hasEnded(this.directory.get(siteId))) return false;
    const home = [...this.homes.values()].find(({ sites }) => sites.has(siteId));
    return home?.apps.has(`${siteId}/${appid}`) === true;
  }

  /** The site of an appid by the directory, otherwise by the first home that has the app. */
  siteOf(appid: string): number | undefined {
    const siteId = this.routes.get(appid);
    if (siteId !== undefined) return siteId;
    const apps = [...this.homes.values()].flatMap((home) => [...home.apps.values()]);
    return apps.find((app) => app.appid === appid)?.siteId;
  }

  /** Notes the texts of deleted sessions, which must not be stored anywhere any more. */
  noteGone(home: string, changes: readonly RowChange[]): void {
    for (const { table, before, after } of changes) {
      if (before === null || after !== null) continue;
      if (table === "sessions") this.erasedSessions.add(`${home}/${before.site_id}/${before.id}`);
      if (table === "messages") this.erasedTexts.add(String(before.content));
    }
  }

  /** Forgets the rows of a home before its restored rows are applied. @param at Unix seconds */
  forget(home: string, at: number): void {
    this.homes.delete(home);
    this.restoredAt.set(home, at);
    for (const erasure of this.erasures.values()) {
      if (erasure.home !== home) continue;
      erasure.isLost = true;
      erasure.isRestored = true;
    }
    for (const name of this.changedSinceRestore) {
      if (name.startsWith(`${home}/`)) this.changedSinceRestore.delete(name);
    }
    if (home !== "main") return;
    // After a restore of `main`, only KV may know the ends of its sites.
    if (this.mayKvLose) for (const [name, end] of this.ends) if (name.startsWith("main/")) end.isAnswered = false;
    this.routes.clear();
    this.directory.clear();
  }

  /** @param fingerprint the meaning of an Idempotency-Key in the change; empty when the writer is unknown */
  apply(home: string, change: RowChange, fingerprint: string): void {
    const row = (change.after ?? change.before) as Row;
    const isGone = change.after === null;
    if (change.table === "sites") {
      put(this.directory, Number(row.id), listedOf(row), isGone);
    } else if (change.table === "app_routes") put(this.routes, String(row.appid), Number(row.site_id), isGone);
    else if (change.table === "idempotency_keys") {
      const name = JSON.stringify([home, row.site_id, row.appid, row.operation, row.key, row.session_id]);
      const knownFingerprint = fingerprint || this.#fingerprints.get(name) || "";
      this.#fingerprints.set(name, knownFingerprint);
      this.home(home).apply(change, knownFingerprint);
    } else this.home(home).apply(change, "");
    if (change.table === "site_deletions" && row.home === home) {
      const knownEnd = this.ends.get(`${home}/${row.site_id}`);
      if (knownEnd?.id !== row.id) this.ends.set(`${home}/${row.site_id}`, { id: String(row.id), isAnswered: false });
    }
    if (change.table === "home_sites" && !isGone) {
      const site = `${home}/${row.site_id}`;
      const { chatId = 0, eventSeq = 0 } = this.floors.get(site) ?? {};
      this.floors.set(site, {
        chatId: Math.max(chatId, Number(row.chat_id_floor)),
        eventSeq: Math.max(eventSeq, Number(row.event_seq_floor)),
      });
    }
    if (change.table === "apps" && !isGone) {
      const versions = this.versions.get(String(row.appid)) ?? new Set();
      this.versions.set(String(row.appid), versions.add(String(row.version)));
    }
  }
}

const listedOf = (row: Row): ListedReceipt => ({
  home: String(row.home),
  status: String(row.status),
  name: String(row.name),
  revision: Number(row.revision),
  firstChatId: Number(row.first_chat_id),
  retentionDays: row.retention_days == null ? null : Number(row.retention_days),
});

export const usedName = (appid: string, ranstr: string): string => JSON.stringify([appid, ranstr]);
