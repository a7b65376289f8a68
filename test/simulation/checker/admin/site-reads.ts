import { isDeepStrictEqual } from "node:util";
import { sessionDetail } from "../../operations/create-session.ts";
import type { Row } from "../../platform/database.ts";
import type { HomeModel } from "../home-model.ts";
import type { Model } from "../model.ts";
import { sorted } from "./customer-answers.ts";
import type { OperationOf } from "./intents.ts";

/** What the reads of one site show: `GET /sites/{id}` and `GET /sites/{id}/export`. */

/** A day of retention. It is five seconds in the simulation. */
export const RETENTION_DAY = 5;
/** How far the order of a site's sessions may differ from that of their times: clocks differ, and a call takes seconds. */
const APART_SECONDS = 40;

const NO_SETTINGS = { events: false, retention_days: null, oldest_session_at: null, sessions_to_go: null };

interface Listed {
  name: string;
  home: string;
  status: string;
  createdAt: number;
}

/** A number that is estimated. */
interface Estimate {
  least: number;
  most: number;
}

/** What `GET /sites/{id}` shows now. */
export function siteNow(
  model: Model,
  id: number,
  { name, home: at, status, createdAt }: Listed,
  clock: number,
): object {
  if (status === "creating") return { status: 409 };
  const site = { id, name, home: at, status, created_at: createdAt };
  const home = model.home(at);
  const ends = home.deletions.get(id) ?? model.home("main").deletions.get(id);
  const deletion = ends && { deletion_id: ends.id, begun_at: ends.begun_at, done_at: ends.done_at };
  const shown = { ...site, deletion: deletion ? { ...deletion, remaining: remainingOf(home, id) } : null };
  // A restored directory may not know yet that the site has ended.
  const isThere = (status === "open" || status === "closed") && ends?.done_at == null;
  if (!isThere) return { ...shown, ...NO_SETTINGS };
  const row = home.sites.get(id)?.row;
  if (row === undefined) return { status: 404 };
  const sessions = sessionsOf(home, id);
  const days = row.retention_days ?? null;
  const until = clock - Number(days) * RETENTION_DAY - APART_SECONDS;
  const [first, last] = [sessions[0], sessions.at(-1)];
  const least = sessions.filter(({ created_at }) => Number(created_at) <= until).length;
  const estimate: Estimate = { least, most: Number(last?.id ?? 0) - Number(first?.id ?? 1) + 1 };
  const oldest_session_at = first?.created_at ?? null;
  const sessions_to_go = days === null ? null : estimate;
  return { ...shown, events: row.events === 1, retention_days: days, oldest_session_at, sessions_to_go };
}

const sessionsOf = (home: HomeModel, siteId: number): Row[] =>
  [...home.sessions.values()]
    .flatMap(({ row }) => (row.site_id === siteId ? [row] : []))
    .sort((a, b) => Number(a.id) - Number(b.id));

/** How many rows of a site its home has, by table. The model does not follow erasures. */
export function remainingOf(home: HomeModel, siteId: number): Record<string, number> {
  const { outbox } = home;
  const ofSite = (rows: Iterable<Row>) => [...rows].filter(({ site_id }) => site_id === siteId).length;
  const named = (names: Iterable<string>) =>
    [...names].filter((name) => (JSON.parse(name) as unknown[])[0] === siteId).length;
  const sessions = [...home.sessions.values()].filter(({ row }) => row.site_id === siteId);
  const counts = ["usage", "usage_days", "counters", "counted_events"] as const;
  return {
    ...Object.fromEntries(counts.map((table) => [table, ofSite(home.counts.of(table).values())])),
    deliveries: ofSite(outbox.deliveries.values()),
    events: ofSite(outbox.events.values()),
    nonces: ofSite(home.claims.values()),
    idempotency_keys: named(home.keys.keys()),
    refusals: ofSite(home.refusals.values()),
    participants: sessions.reduce((sum, { participants }) => sum + participants.size, 0),
    messages: sessions.reduce((sum, { messages }) => sum + messages.length, 0),
    sessions: sessions.length,
    customers: ofSite(home.customers.values()),
    webhooks: ofSite(outbox.webhooks.values()),
    agents: ofSite(home.agents.values()),
    apps: [...home.apps.values()].filter((app) => app.siteId === siteId).length,
  };
}

export const isOfSite = (path: string): boolean => /^\/admin\/sites\/\d+$/.test(path);

/** The parts of what is shown that are read together. */
function partsOf({ deletion, ...site }: Record<string, unknown>): Record<string, unknown> {
  const { remaining, ...ends } = (deletion ?? {}) as { remaining?: Record<string, number> };
  const { erasures: _, ...counts } = remaining ?? {};
  const isNone = deletion == null;
  return { ...site, ...ends, remaining: isNone ? null : counts };
}

/** Whether each part of an answer was stored at some moment: the parts are read one after the other. */
export function isSiteShown(answered: object, known: readonly object[]): boolean {
  const said = partsOf(answered as Record<string, unknown>);
  const all = known.map((each) => partsOf(each as Record<string, unknown>));
  return Object.entries(said).every(([part, value]) =>
    all.some((each) => part in each && (isDeepStrictEqual(value, each[part]) || isWithin(value, each[part]))),
  );
}

const isWithin = (value: unknown, estimate: unknown): boolean => {
  const { least, most } = (estimate ?? {}) as Partial<Estimate>;
  return typeof value === "number" && least !== undefined && value >= least && value <= Number(most);
};

type Asked = OperationOf<"exportSite">["intent"];

const STAGES = ["agents", "apps", "sessions"];

const placeOf = ({ siteId, after }: Asked): { stage: string; key: string } | undefined => {
  if (after === null) return { stage: "agents", key: "" };
  const [id, stage = "", key = ""] = after.split(".");
  return id === String(siteId) && STAGES.includes(stage) ? { stage, key } : undefined;
};

/** Whether an export may continue where a call asks. */
export const isPlace = (asked: Asked): boolean => placeOf(asked) !== undefined;

/** The lines of a part of an export for what is stored now, as JSON; empty when there is no such site. */
export function siteExportNow(model: Model, asked: Asked): string {
  const { siteId, after, limit } = asked;
  const listed = model.directory.get(siteId);
  const place = placeOf(asked);
  if (listed === undefined || place === undefined || !model.homes.has(listed.home)) return "";
  const home = model.home(listed.home);
  const { name, home: at, status, createdAt: created_at } = listed;
  const lines: object[] = after === null ? [{ kind: "site", id: siteId, name, home: at, status, created_at }] : [];
  let [left, next] = [limit, null as string | null];
  for (const stage of STAGES.slice(STAGES.indexOf(place.stage))) {
    const key = stage === place.stage ? place.key : "";
    const all = linesOf(home, siteId, stage).filter(({ id }) => (typeof id === "number" ? id > Number(key) : id > key));
    const part = all.slice(0, left);
    lines.push(...part.flatMap((each) => each.lines));
    if (all.length > left) {
      next = `${siteId}.${stage}.${part.at(-1)?.id ?? (key || (stage === "apps" ? "" : "0"))}`;
      break;
    }
    left -= part.length;
  }
  return [...lines, { kind: "end", next }].map(sorted).join("\n");
}

const byId = (a: { id: string | number }, b: { id: string | number }): number => (a.id < b.id ? -1 : 1);

function linesOf(home: HomeModel, siteId: number, stage: string): { id: string | number; lines: object[] }[] {
  if (stage === "agents") {
    return [...home.agents.values()]
      .filter(({ site_id }) => site_id === siteId)
      .map(({ id, name, status }) => ({ id: Number(id), lines: [{ kind: "agent", id, name, status }] }))
      .sort(byId);
  }
  if (stage === "apps") {
    return [...home.apps.values()]
      .filter((app) => app.siteId === siteId)
      .map(({ appid, row: { name, revoked_at, created_at } }) => ({
        id: appid,
        lines: [{ kind: "app", appid, name, revoked_at, created_at }],
      }))
      .sort(byId);
  }
  const seen = new Set<unknown>();
  return sessionsOf(home, siteId).map((row) => {
    const sbs = row.customer_external_id;
    const isFirst = !seen.has(sbs);
    seen.add(sbs);
    const { name, ip, created_at, updated_at } = home.customers.get(`${siteId}/${sbs}`) ?? {};
    const customer = { kind: "customer", sbs, name, ip, created_at, updated_at };
    return { id: Number(row.id), lines: [...(isFirst ? [customer] : []), sessionLine(home, row)] };
  });
}

function sessionLine(home: HomeModel, row: Row): object {
  const { participants = new Map<number, Row>(), messages = [] } = home.sessions.get(`${row.site_id}/${row.id}`) ?? {};
  return {
    ...(sessionDetail(row, {}, [], []) as object),
    kind: "session",
    session_kind: row.kind,
    customer: undefined,
    sbs: row.customer_external_id,
    appid: row.appid,
    request_id: row.request_id,
    participants: [...participants.values()]
      .sort((a, b) => Number(a.agent_id) - Number(b.agent_id))
      .map(({ agent_id, added_by, added_at }) => ({ agent_id, added_by, added_at })),
    messages: messages.map(({ sender, sender_uid, content, created_at }) => ({
      sender,
      sender_uid,
      content,
      created_at,
    })),
  };
}

/** How a part of an export is wrong. It is compared only when nothing of the site changed while it was made. */
export function wrongSiteExport({ exported, changes }: OperationOf<"exportSite">, text: string): string | undefined {
  if (changes.length > 1) return "it left several rows in the audit log";
  const [stored, changed] = exported;
  if (stored === undefined || changed !== undefined) return undefined;
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => sorted(JSON.parse(line)));
  return lines.join("\n") === stored ? undefined : `expected ${stored}`;
}
