import { isOutbox, OutboxModel } from "../deliveries/rules/outbox-model.ts";
import type { Row, RowChange } from "../platform/database.ts";

export interface App {
  siteId: number;
  appid: string;
  version: string;
  previousVersion: string | null;
  /** Unix seconds. */
  previousExpiresAt: number;
  isRevoked: boolean;
  row: Row;
}

interface Site {
  name: string;
  status: string;
  /** The highest id that is skipped. */
  floor: number;
  row: Row;
}

export interface Session {
  row: Row;
  participants: Map<number, Row>;
  messages: Row[];
}

interface UsedKey {
  fingerprint: string;
  sessionId: number;
  /** Unix seconds. */
  expiresAt: number;
}

/** The rows of one home, updated with each transaction's changes. */
export class HomeModel {
  readonly sites = new Map<number, Site>();
  /** Apps, by site and appid. */
  readonly apps = new Map<string, App>();
  /** Agents, by site and id. */
  readonly agents = new Map<string, Row>();
  /** The expiry of each nonce in Unix seconds, by site, appid and ranstr. */
  readonly nonces = new Map<string, number>();
  /** The row of each nonce, by site, appid and ranstr. */
  readonly claims = new Map<string, Row>();
  /** Customers, by site and the caller's own id. */
  readonly customers = new Map<string, Row>();
  /** Sessions, by site and id. */
  readonly sessions = new Map<string, Session>();
  /** Idempotency-Keys, by site, appid, operation and key. */
  readonly keys = new Map<string, UsedKey>();
  /** Rows of the audit log, by id. */
  readonly audit = new Map<number, Row>();
  readonly outbox = new OutboxModel();
  /** The rows of site_deletions, by site. The directory also has those of other homes. */
  readonly deletions = new Map<number, Row>();
  readonly name: string;
  readonly #newest = new Map<number, number>();

  constructor(name: string) {
    this.name = name;
  }

  /** The highest id that a site has given or skipped. */
  highestId(siteId: number): number {
    return Math.max(this.sites.get(siteId)?.floor ?? 0, this.#newest.get(siteId) ?? 0);
  }

  #findNewest(siteId: number): number {
    let newest = 0;
    for (const { row } of this.sessions.values()) if (row.site_id === siteId) newest = Math.max(newest, Number(row.id));
    return newest;
  }

  /** @param fingerprint the meaning of an Idempotency-Key in the change; only the call that wrote it knows it */
  apply(change: RowChange, fingerprint: string): void {
    const { table, before, after } = change;
    if (isOutbox(table)) this.outbox.apply(change);
    const row = (after ?? before) as Row;
    const isGone = after === null;
    const id = `${row.site_id}/${row.id}`;
    switch (table) {
      case "home_sites": {
        const { name, status, chat_id_floor } = row;
        const site = { name: String(name), status: String(status), floor: Number(chat_id_floor), row };
        put(this.sites, Number(row.site_id), site, isGone);
        break;
      }
      case "apps":
        if (before !== null) this.apps.delete(`${before.site_id}/${before.appid}`);
        put(this.apps, `${row.site_id}/${row.appid}`, appOf(row), isGone);
        break;
      case "agents":
        put(this.agents, id, row, isGone);
        break;
      case "customers":
        put(this.customers, `${row.site_id}/${row.external_id}`, row, isGone);
        break;
      case "sessions": {
        const { participants = new Map(), messages = [] } = this.sessions.get(id) ?? {};
        put(this.sessions, id, { row, participants, messages }, isGone);
        const siteId = Number(row.site_id);
        const newest = isGone ? this.#findNewest(siteId) : Math.max(Number(row.id), this.#newest.get(siteId) ?? 0);
        this.#newest.set(siteId, newest);
        break;
      }
      case "participants": {
        const session = this.sessions.get(`${row.site_id}/${row.session_id}`);
        if (session !== undefined) put(session.participants, Number(row.agent_id), row, isGone);
        break;
      }
      case "messages":
        if (!isGone) this.sessions.get(`${row.site_id}/${row.session_id}`)?.messages.push(row);
        break;
      case "nonces":
        put(this.nonces, JSON.stringify([row.site_id, row.appid, row.ranstr]), Number(row.expires_at), isGone);
        put(this.claims, JSON.stringify([row.site_id, row.appid, row.ranstr]), row, isGone);
        break;
      case "site_deletions":
        put(this.deletions, Number(row.site_id), row, isGone);
        break;
      case "audit_log":
        put(this.audit, Number(row.id), row, isGone);
        break;
      case "idempotency_keys": {
        const entry = { fingerprint, sessionId: Number(row.session_id), expiresAt: Number(row.expires_at) };
        const name = keyName(Number(row.site_id), String(row.appid), String(row.operation), String(row.key));
        put(this.keys, name, entry, isGone);
        break;
      }
    }
  }
}

export function put<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, isGone: boolean): void {
  if (isGone) map.delete(key);
  else map.set(key, value);
}

export const keyName = (siteId: number, appid: string, operation: string, key: string): string =>
  JSON.stringify([siteId, appid, operation, key]);

const appOf = (row: Row): App => ({
  siteId: Number(row.site_id),
  appid: String(row.appid),
  version: String(row.version),
  previousVersion: row.previous_version == null ? null : String(row.previous_version),
  previousExpiresAt: Number(row.previous_expires_at ?? 0),
  isRevoked: row.revoked_at !== null,
  row,
});
