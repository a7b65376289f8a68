import { sessionDetail } from "../../operations/create-session.ts";
import { wrongHash } from "../customer-hash.ts";
import type { Model } from "../model.ts";
import { type Counts, countsOf, sessionsOf } from "./erasures.ts";
import type { OperationOf } from "./intents.ts";

/** What the calls about one customer's data answer: docs/operating.md, "One customer's data". */

/** How many sessions a page of an export has. It is 50, and lowered in the simulation. */
const SESSIONS_PER_PAGE = 3;

type OfCustomer = OperationOf<"eraseCustomer" | "exportCustomer">["intent"];

/**
 * The erasures of a customer that were begun and not undone by a restore. Without KV a restore takes the key of the hashes too: then the
 * customer cannot be recognized any more.
 */
function erasuresOf(model: Model, home: string, { siteId, sbs }: OfCustomer) {
  const isKnown = (hash: string) => model.hashKeys().some(({ id }) => hash.startsWith(`${id}.`));
  const theirs = [...model.erasures.values()].filter(
    (each) => each.home === home && each.siteId === siteId && each.sbs === sbs,
  );
  return theirs.filter(({ hash }) => isKnown(hash));
}

/** The status of a call about a customer, for what is stored now. */
export function statusOfCustomer(
  model: Model,
  home: string,
  intent: OfCustomer,
  closedHomes: readonly string[],
): number {
  const isKnown = model.home(home).customers.has(`${intent.siteId}/${intent.sbs}`);
  if (intent.kind === "exportCustomer") return !isKnown ? 404 : closedHomes.includes("main") ? 503 : 200;
  if (closedHomes.includes("main") || closedHomes.includes(home)) return 503;
  return isKnown || erasuresOf(model, home, intent).length > 0 ? 200 : 404;
}

/** What is stored of a customer when a call to erase them arrives. */
export interface Arrival {
  /** The erasures that have erased something and are not done. */
  underWay: Set<string>;
  /** The customer's sessions. */
  chatIds: number[];
}

export function arrivalOf(model: Model, intent: OperationOf<"eraseCustomer">["intent"]): Arrival {
  const home = model.directory.get(intent.siteId)?.home ?? "";
  const underWay = erasuresOf(model, home, intent).filter(
    ({ id, isDone, isLost }) => isLost || (!isDone && (model.erasedRows.get(id)?.counts.sessions ?? 0) > 0),
  );
  const chatIds = model.homes.has(home) ? sessionsOf(model.home(home), intent).map(({ row }) => Number(row.id)) : [];
  return { underWay: new Set(underWay.map(({ id }) => id)), chatIds };
}

/** How the answer to an erasure is wrong. */
export function wrongErasureAnswer(
  model: Model,
  { call, changes, arrival, intent }: OperationOf<"eraseCustomer">,
  body: {
    erasure_id?: string;
    remaining?: number;
    erased?: Counts;
    webhooks?: { id: string; url: string | null; delivered: number; may_have_arrived: number; told: boolean }[];
  },
): string | undefined {
  const erasure = model.erasures.get(String(body.erasure_id));
  if (erasure?.sbs !== intent.sbs || erasure.siteId !== intent.siteId) return "no such erasure was begun";
  const said = body.erased ?? countsOf([]);
  const went = Object.entries(countsOf(changes)) as [keyof Counts, number][];
  // When an answer of D1 is lost, another call may go on before the second try: then nobody is told the counts.
  const hadFaults = call.faults.length > 0;
  const odd = went.find(([what, count]) => said[what] > count || (!hadFaults && said[what] !== count));
  if (odd !== undefined) return `it erased ${odd[1]} ${odd[0]}, and says ${said[odd[0]]}`;
  if (body.remaining !== 0) return undefined;
  const left = sessionsOf(model.home(erasure.home), intent).map(({ row }) => Number(row.id));
  const missed = left.find((id) => id <= erasure.until);
  if (missed !== undefined) return `session ${missed} is left`;
  const ignored = left.find((id) => arrival?.chatIds.includes(id));
  if (arrival !== undefined && !arrival.underWay.has(erasure.id) && ignored !== undefined) {
    return `session ${ignored} is left, although the erasure had erased nothing yet or was done before the call`;
  }
  const gone = model.erasedRows.get(erasure.id);
  if (gone === undefined || gone.counts.sessions === 0 || erasure.isRestored) return undefined;
  const wrong = body.webhooks?.find(({ id, url, delivered, may_have_arrived, told }) => {
    const got = gone.got[id] ?? { delivered: 0, attempted: 0 };
    const isTold = url !== null && gone.told[id] === gone.counts.sessions;
    return delivered !== got.delivered || may_have_arrived !== got.attempted || told !== isTold;
  });
  return wrong && `it says ${JSON.stringify(wrong)}: ${JSON.stringify(gone)}`;
}

/** The answer to an export, for what is stored now; undefined when there is no such customer. */
export function exportNow(model: Model, intent: OperationOf<"exportCustomer">["intent"]): object | undefined {
  const name = model.directory.get(intent.siteId)?.home ?? "";
  if (!model.homes.has(name)) return undefined;
  const home = model.home(name);
  const customer = home.customers.get(`${intent.siteId}/${intent.sbs}`);
  if (customer === undefined) return undefined;
  const after = sessionsOf(home, intent).filter(({ row }) => Number(row.id) > intent.after);
  const page = after.slice(0, SESSIONS_PER_PAGE);
  const ids = new Set(page.map(({ row }) => row.id));
  const events = [...home.outbox.events.values()]
    .filter(({ site_id, session_id }) => site_id === intent.siteId && ids.has(session_id ?? null))
    .sort((a, b) => Number(a.seq) - Number(b.seq));
  const { external_id: sbs, name: called, ip, created_at, updated_at } = customer;
  return {
    customer: { sbs, name: called, ip, created_at, updated_at },
    sessions: page.map(({ row, participants, messages }) => ({
      ...(sessionDetail(row, customer, [...participants.values()], messages) as object),
      customer: undefined,
      appid: row.appid,
      request_id: row.request_id,
      participants: [...participants.values()]
        .sort((a, b) => Number(a.agent_id) - Number(b.agent_id))
        .map(({ agent_id, added_by, added_at }) => ({ agent_id, added_by, added_at })),
      messages: messages.map((each) => ({
        sender: each.sender,
        sender_uid: each.sender_uid,
        content: each.content,
        created_at: each.created_at,
      })),
    })),
    events: events.map(({ id, seq, type, session_id, created_at: at, data }) => ({
      id,
      seq,
      type,
      chat_id: session_id,
      created_at: at,
      data: JSON.parse(String(data)) as unknown,
    })),
    next_cursor: after.length > page.length ? String(page.at(-1)?.row.id) : null,
  };
}

/** How the answer to an export is wrong. It is compared only when nothing of the customer changed while it was made. */
export function wrongExport(
  model: Model,
  { call, intent, exported, changes }: OperationOf<"exportCustomer">,
  body: { sessions?: object[] },
): string | undefined {
  const [row, another] = changes.flatMap(({ table, after }) =>
    table === "audit_log" && after !== null ? [after] : [],
  );
  if (row === undefined || another !== undefined) return "it left not one row in the audit log";
  const { hash, ...details } = JSON.parse(String(row.details)) as { hash: string };
  if (sorted(details) !== sorted({ sessions: body.sessions?.length, after: intent.after }))
    return `it left ${row.details}`;
  const odd = wrongHash(model, call.settings, hash, intent.siteId, intent.sbs);
  if (odd !== undefined) return odd;
  const [stored, changed] = exported;
  if (stored === undefined || changed !== undefined) return undefined;
  return sorted(body) === stored ? undefined : `expected ${stored}`;
}

/** JSON with the names in order. */
export const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    each !== null && typeof each === "object" && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
