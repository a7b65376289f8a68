import { sessionDetail } from "../../operations/create-session.ts";
import { summaryOf } from "../../operations/shared/shown-session.ts";
import type { Row } from "../../platform/database.ts";
import type { Reader } from "../door/visitor.ts";
import type { HomeModel } from "../home-model.ts";
import { timeOf } from "../journal/request-time.ts";
import { hasEnded, type Model } from "../model.ts";
import { isMalformedUsage, usageNow } from "../usage/usage-reads.ts";
import { type Asked, callNow, isMalformed, refusalNow, refusalsNow } from "./journal-reads.ts";
import { siteNow } from "./site-reads.ts";
import { tokensNow } from "./tokens.ts";
import { deliveriesNow, eventsNow, webhooksNow } from "./webhook-reads.ts";

/**
 * The answers of the admin API's reads for what is stored at one moment: docs/operating.md, and the schemas of
 * openapi.json.
 */

export const NOT_FOUND = { status: 404 };
const DEFAULT_LIMIT = 20;

interface Read extends Asked, Reader {
  path: string;
  /** Whether the read found the site before its end began: then it shows what the home still has. */
  hadSite: boolean;
}

/** The body that a read must answer; only `status` for a refusal. Undefined for an answer that is not compared. */
export function readNow(model: Model, { path, ...asked }: Read): object | undefined {
  const { query, settings, onlySite, isViewer, hadSite } = asked;
  const [first, second, third, fourth] = path.split("/").slice(1);
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  if (first === "homes") return second === undefined ? { items: homesNow(model, settings.closedHomes) } : undefined;
  if (first === "requests") return refusalNow(model, second ?? "", onlySite);
  if (first === "tokens") return pageOf(after(tokensNow(model), query, String), limit);
  if (first !== "sites") return undefined;
  const siteId = Number(second);
  if (second === undefined) {
    const there = [...model.directory].filter(([, { status }]) => status !== "deleted");
    const sites = there.filter(([id]) => id === (onlySite ?? id)).sort(([a], [b]) => a - b);
    const shown = sites.map(([id, { name, home, status, createdAt }]) => ({
      key: id,
      item: { id, name, home, status, created_at: createdAt },
    }));
    return pageOf(after(shown, query, Number), limit);
  }
  const site = model.directory.get(siteId);
  if (site === undefined) return NOT_FOUND;
  if (third === undefined) return siteNow(model, siteId, site, asked.clock);
  if (hasEnded(site) && !hadSite) return NOT_FOUND;
  if (site.status === "creating") return { status: isBad(third, fourth, query) ? 400 : 409 };
  const home = model.home(site.home);
  switch (third) {
    case "apps":
      return pageOf(after(appsNow(home, siteId), query, String), limit);
    case "agents":
      return pageOf(after(agentsNow(home, siteId), query, Number), limit);
    case "sessions":
      return fourth === undefined
        ? pageOf(sessionsNow(home, siteId, query), limit)
        : sessionNow(home, siteId, Number(fourth));
    case "refusals":
      return refusalsNow(home, siteId, asked);
    case "usage":
      return usageNow(home, siteId, query, asked.clock);
    case "requests":
      return callNow(home, siteId, fourth ?? "", asked);
    case "events":
      return { items: eventsNow(home, siteId, query, limit) };
    case "webhooks": {
      if (fourth === undefined) return { items: webhooksNow(home, siteId, isViewer), next_cursor: null };
      const webhook = home.outbox.webhooks.get(`${siteId}/${fourth}`);
      return webhook === undefined ? NOT_FOUND : pageOf(deliveriesNow(home, webhook, query), limit);
    }
    default:
      throw new Error(`the checker does not know what GET /admin/sites/:site_id/${third} shows: say it here`);
  }
}

/** Whether a read of a site is refused for itself, whatever is stored. */
function isBad(what: string, which: string | undefined, query: URLSearchParams): boolean {
  if (what === "requests") return timeOf(which ?? "") === undefined;
  return what === "usage" ? isMalformedUsage(query) : isMalformed(query);
}

export interface Shown {
  key: number | string;
  item: object;
}

/** The rows after the cursor, of a list in ascending order. */
function after(shown: Shown[], query: URLSearchParams, keyOf: (cursor: string) => Shown["key"]): Shown[] {
  const cursor = query.get("cursor");
  return cursor === null ? shown : shown.filter(({ key }) => key > keyOf(cursor));
}

function pageOf(shown: Shown[], limit: number): object {
  const next = shown.length > limit ? String(shown[limit - 1]?.key) : null;
  return { items: shown.slice(0, limit).map(({ item }) => item), next_cursor: next };
}

function homesNow(model: Model, closedHomes: readonly string[]): object[] {
  const names = [...model.homes.keys()].sort((a, b) => (a === "main" ? -1 : b === "main" ? 1 : a < b ? -1 : 1));
  return names.map((name) => {
    const sites = [...model.directory.values()].filter(
      (each) => each.home === name && each.status !== "deleted",
    ).length;
    return { name, sites, status: closedHomes.includes(name) ? "closed" : "open" };
  });
}

const bytes = (a: { key: number | string }, b: { key: number | string }): number => (a.key < b.key ? -1 : 1);

const appsNow = (home: HomeModel, siteId: number): Shown[] =>
  [...home.apps.values()]
    .filter((app) => app.siteId === siteId)
    .map(({ appid, version, row }) => {
      const { name, previous_expires_at, revoked_at, created_at } = row;
      return { key: appid, item: { appid, name, version, previous_expires_at, revoked_at, created_at } };
    })
    .sort(bytes);

const agentsNow = (home: HomeModel, siteId: number): Shown[] =>
  [...home.agents.values()]
    .filter(({ site_id }) => site_id === siteId)
    .map(({ id, name, status }) => ({ key: Number(id), item: { id, name, status } }))
    .sort(bytes);

function sessionsNow(home: HomeModel, siteId: number, query: URLSearchParams): Shown[] {
  const [status, sbs, cursor] = ["status", "sbs", "cursor"].map((name) => query.get(name));
  return [...home.sessions.values()]
    .map(({ row }) => row)
    .filter(
      (row) =>
        row.site_id === siteId &&
        (status === null || row.status === status) &&
        (sbs === null || row.customer_external_id === sbs) &&
        (cursor === null || Number(row.id) < Number(cursor)),
    )
    .map((row) => {
      const { name } = customerOf(home, row);
      const item = { ...summaryOf(row), customer: { sbs: row.customer_external_id, name } };
      return { key: Number(row.id), item };
    })
    .sort((a, b) => b.key - a.key);
}

function sessionNow(home: HomeModel, siteId: number, chatId: number): object {
  const session = home.sessions.get(`${siteId}/${chatId}`);
  if (session === undefined) return NOT_FOUND;
  const { row, participants, messages } = session;
  return sessionDetail(row, customerOf(home, row), [...participants.values()], messages);
}

const customerOf = (home: HomeModel, row: Row): Row =>
  home.customers.get(`${row.site_id}/${row.customer_external_id}`) ?? {};
