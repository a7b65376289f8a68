import { MODELS } from "../../operations/index.ts";
import type { Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { TRANSIENT_FAULT } from "../../world/cloud/database-link.ts";
import type { Settings } from "../../world/cloud/settings.ts";
import type { HomeModel } from "../home-model.ts";
import { secondOf, timeOf } from "../journal/request-time.ts";
import type { Model } from "../model.ts";
import { NONCE_SECONDS } from "../periods.ts";

/** What the reads about refused calls must show: docs/operating.md, "Refused calls". */

const DEFAULT_LIMIT = 20;
const DAY = 86_400;
/** How far the clocks of two isolates may be apart. */
const SKEW_SECONDS = 60;
/** How many rows a list with a filter looks at. It is 10,000, and lowered in the simulation. */
const MOST_READ = 24;

const BAD = { status: 400 };
const NOT_FOUND = { status: 404 };

/** The moment of a read, by its isolate. */
export interface Asked {
  query: URLSearchParams;
  settings: Settings;
  /** Unix seconds. */
  clock: number;
}

const wireNameOf = (operation: unknown): string =>
  MODELS.find(({ name }) => name === operation)?.wireName ?? String(operation);

function refusalShown({ site_id: _, operation, done: _done, ...row }: Row): object {
  return { ...row, operation: wireNameOf(operation) };
}

/** Whether a query is refused for itself, whatever is stored. */
export const isMalformed = (query: URLSearchParams): boolean => query.get("reason") === "no_reason";

/** A page of a site's refused calls, the newest first. */
export function refusalsNow(home: HomeModel, siteId: number, { query, settings, clock }: Asked): object {
  const kept = clock - settings.journalDays * DAY;
  const [since, until] = ["since", "until"].map((name) => query.get(name));
  const [appid, reason, operation, cursor] = ["appid", "reason", "operation", "cursor"].map((name) => query.get(name));
  const isTooOld = [since, until].some((time) => time != null && Number(time) < kept);
  const isTurnedRound = since != null && until != null && Number(since) > Number(until);
  const [cursorSite, before = ""] = cursor?.split(":") ?? [];
  const isForeign = cursor != null && (cursorSite !== String(siteId) || timeOf(before) === undefined);
  if (isTooOld || isTurnedRound || isForeign || isMalformed(query)) return BAD;
  const inRange = [...home.refusals.values()]
    .filter(({ site_id, request_id }) => {
      const at = secondOf(String(request_id));
      if (site_id !== siteId || (cursor != null && String(request_id) >= before)) return false;
      return at >= Number(since ?? kept) && at <= Number(until ?? clock + SKEW_SECONDS);
    })
    .sort((a, b) => (String(a.request_id) > String(b.request_id) ? -1 : 1))
    .slice(0, MOST_READ);
  const isFiltered = [appid, reason, operation].some((filter) => filter != null);
  const found = inRange.filter(
    (row) =>
      (appid ?? row.appid) === row.appid &&
      (reason ?? row.reason) === row.reason &&
      (operation ?? wireNameOf(row.operation)) === wireNameOf(row.operation),
  );
  const items = found.slice(0, Number(query.get("limit") ?? DEFAULT_LIMIT));
  const last = found.length > items.length ? items.at(-1) : isFiltered ? inRange[MOST_READ - 1] : undefined;
  return { items: items.map(refusalShown), next_cursor: last === undefined ? null : `${siteId}:${last.request_id}` };
}

/** A call of a site by its id: the refusal, or for an accepted call what it did. */
export function callNow(home: HomeModel, siteId: number, requestId: string, { clock, settings }: Asked): object {
  if (timeOf(requestId) === undefined) return BAD;
  const at = secondOf(requestId);
  const isOfCall = ({ site_id, owner, request_id }: Row) => site_id === siteId && (owner ?? request_id) === requestId;
  const mayHaveNonce = clock <= at + NONCE_SECONDS + SKEW_SECONDS;
  const nonce = mayHaveNonce ? [...home.claims.values()].find(isOfCall) : undefined;
  const opened = [...home.sessions.values()].find((each) => isOfCall(each.row))?.row;
  const session = opened !== undefined && Math.abs(Number(opened.created_at) - at) <= SKEW_SECONDS ? opened : undefined;
  const row = home.refusals.get(requestId);
  if (row !== undefined && row.site_id === siteId) {
    // A call that was answered 503 may be done all the same.
    const id = session?.id ?? nonce?.session_id;
    return { ...refusalShown(row), ...(id != null && { chat_id: id }) };
  }
  if (nonce !== undefined && nonce.session_id !== null) {
    const { appid, session_id, operation, outcome } = nonce;
    const said = outcome === "repeated" ? "repeated" : "ok";
    return { outcome: said, chat_id: session_id, at, appid, operation: wireNameOf(operation) };
  }
  if (session !== undefined) {
    const { id, appid } = session;
    return { outcome: "ok", chat_id: id, at, appid, operation: wireNameOf("create_session") };
  }
  return nonce === undefined ? NOT_FOUND : refusedByDatabase(nonce, requestId, settings);
}

/** A refusal whose row is not there yet, or was lost: its nonce tells the reason. */
function refusedByDatabase(
  { appid, operation, outcome, secret }: Row,
  requestId: string,
  { errorStatus }: Settings,
): object {
  const model = MODELS.find(({ name }) => name === operation);
  const byCause = outcome === "key_reused" ? 422 : model?.refusals[String(outcome)]?.status;
  const status = errorStatus === "always-200" ? 200 : byCause;
  return {
    request_id: requestId,
    at: secondOf(requestId),
    appid,
    operation: wireNameOf(operation),
    status,
    reason: outcome,
    detail: null,
    secret,
    client: null,
    skipped: 0,
  };
}

/** The refused call with this id in any home. @param onlySite the one site that the reader sees */
export function refusalNow({ homes }: Model, requestId: string, onlySite: number | undefined): object {
  if (timeOf(requestId) === undefined) return BAD;
  const row = [...homes.values()].map(({ refusals }) => refusals.get(requestId)).find((each) => each !== undefined);
  return row === undefined || row.site_id !== (onlySite ?? row.site_id)
    ? NOT_FOUND
    : { site_id: row.site_id, ...refusalShown(row) };
}

/** The homes whose databases have failed a call: a fault names its home. */
export const failedHomes = (faults: readonly string[]): string[] =>
  faults.flatMap((fault) =>
    /: (down|refused|request lost|answer lost)/.test(fault) ? [fault.split(":")[0] ?? ""] : [],
  );

/** The homes that a problem names as silent. */
export const homesDownIn = (body: string): string[] => (JSON.parse(body) as { homes_down?: string[] }).homes_down ?? [];

/** Whether a fault has met a call at this home. */
export const mayBeDown = ({ faults }: Call, home: string): boolean =>
  faults.some((fault) => fault === TRANSIENT_FAULT || fault.startsWith(`${home}: `));
