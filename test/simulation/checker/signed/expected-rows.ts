import { isDeepStrictEqual } from "node:util";
import type { Change, Row } from "../../platform/database.ts";
import { eventRows } from "../events/expected-event.ts";
import type { App, HomeModel, Session } from "../home-model.ts";
import { KEY_SECONDS, NONCE_SECONDS } from "../periods.ts";
import { shownSession } from "../shown-session.ts";
import { type AddAsked, type CreateAsked, storedName } from "./contract.ts";
import type { Readable } from "./signatures.ts";
import { type Writing, whyIgnored } from "./verdicts.ts";

/** A row that has to be written, with the columns that the contract tells, and what the JSON of `data` has to say. */
type Expected = { table: string; after: Row; json?: object };

/**
 * The rows that a request writes when it comes to this, whole.
 *
 * @param autoTitle the automatic title that was written; it has a rule of its own
 */
export function expectedRows(
  home: HomeModel,
  app: App,
  { call, reading }: Readable,
  verdict: Writing,
  autoTitle: Row[string],
): Expected[] {
  const { clock } = call;
  const { siteId: site_id, appid } = app;
  const { asked, stamp, key } = reading;
  if (asked === undefined || stamp === undefined || key === undefined) throw new Error("only a whole request writes");
  const session_id = verdict.kind === "refused" ? null : verdict.sessionId;
  const rows: Expected[] = [
    { table: "nonces", after: { site_id, appid, ranstr: stamp.ranstr, expires_at: clock + NONCE_SECONDS, session_id } },
  ];
  if (verdict.kind !== "accepted") return rows;
  const written =
    asked.operation === "create_gd"
      ? createdRows(home, app, asked, verdict, clock)
      : addedRows(home, app, asked, clock);
  const told =
    asked.operation === "create_gd"
      ? { type: "session.created", data: createdData(written, autoTitle) }
      : { type: "session.agents_added", data: addedData(home, app, asked, written) };
  const event = { siteId: site_id, sessionId: verdict.sessionId, clock, ...told, data: { appid, ...told.data } };
  rows.push(...written, ...eventRows(home, event));
  if (key !== null) {
    const operation = storedName(reading);
    rows.push({
      table: "idempotency_keys",
      after: { site_id, appid, operation, key, session_id, expires_at: clock + KEY_SECONDS },
    });
  }
  return rows;
}

/** Sections 2, 3 and 4.1. */
function createdRows(
  home: HomeModel,
  { siteId: site_id, appid }: App,
  { customer, content, title, agents, responsible, sender, metadata }: CreateAsked,
  { sessionId: session_id }: { sessionId: number },
  clock: number,
): Expected[] {
  const known = home.customers.get(`${site_id}/${customer.id}`);
  const opening = {
    1: { status: "waiting", sender: "visitor", sender_uid: null },
    2: { status: "replied", sender: "agent", sender_uid: responsible },
    3: { status: "waiting", sender: "agent", sender_uid: 0 },
  }[sender];
  const { status, ...from } = opening;
  return [
    {
      table: "customers",
      after: {
        site_id,
        external_id: customer.id,
        name: customer.name,
        ip: customer.ip,
        created_at: known?.created_at ?? clock,
        updated_at: clock,
      },
    },
    {
      table: "sessions",
      after: {
        site_id,
        id: session_id,
        appid,
        kind: "ticket",
        customer_external_id: customer.id,
        responsible_agent_id: responsible,
        status,
        visitor_title: title,
        agent_title: title,
        created_at: clock,
        metadata: metadata === null ? null : JSON.stringify(metadata),
      },
    },
    ...agents
      .filter((id) => id !== responsible)
      .map((agent_id) => participant(site_id, session_id, agent_id, responsible, clock)),
    { table: "messages", after: { site_id, session_id, seq: 1, ...from, content, created_at: clock } },
  ];
}

/** Section 4.2. */
function addedRows(home: HomeModel, { siteId }: App, { chatId, agents }: AddAsked, clock: number): Expected[] {
  const session = home.sessions.get(`${siteId}/${chatId}`) as Session;
  const responsible = Number(session.row.responsible_agent_id);
  return agents
    .filter((id) => whyIgnored(home, siteId, session, id) === undefined)
    .map((id) => participant(siteId, chatId, id, responsible, clock));
}

/** All that is stored of the session, as the admin API answers it. */
function createdData(written: Expected[], auto_title: Row[string]): object {
  const rowsOf = (name: string) => written.filter(({ table }) => table === name).map(({ after }) => after);
  const [[row = {}], [customer = {}]] = [rowsOf("sessions"), rowsOf("customers")];
  return shownSession({ ...row, auto_title }, customer, rowsOf("participants"), rowsOf("messages"));
}

/** Who joined by this call, in ascending order. */
function addedData(home: HomeModel, { siteId }: App, { chatId }: AddAsked, written: Expected[]): object {
  const session = home.sessions.get(`${siteId}/${chatId}`);
  const agent_ids = written.map(({ after }) => Number(after.agent_id)).sort((a, b) => a - b);
  return { chat_id: chatId, agent_ids, added_by: session?.row.responsible_agent_id };
}

const participant = (site_id: number, session_id: number, agent_id: number, added_by: number, added_at: number) => ({
  table: "participants",
  after: { site_id, session_id, agent_id, added_by, added_at },
});

/** How what was written differs from what should have been; undefined when it does not. */
export function difference(changes: readonly Change[], expected: readonly Expected[]): string | undefined {
  const missing = [...expected];
  for (const change of changes) {
    const fits = missing.findIndex(({ table, after, json }) => {
      const isInserted = table !== "events" && table !== "deliveries" ? true : change.before === null;
      return table === change.table && isInserted && includes(change.after, after) && says(change.after, json);
    });
    if (fits < 0) {
      const near = missing.find(({ table }) => table === change.table);
      return `wrote ${JSON.stringify(change)}${near === undefined ? "" : `, expected ${JSON.stringify(near)}`}`;
    }
    missing.splice(fits, 1);
  }
  return missing.length === 0 ? wrongTitle(changes) : `did not write ${JSON.stringify(missing[0])}`;
}

const includes = (row: Row | null, part: Row): boolean =>
  row !== null && Object.entries(part).every(([column, value]) => row[column] === value);

const says = (row: Row | null, json: object | undefined): boolean =>
  json === undefined || isDeepStrictEqual(JSON.parse(String(row?.data)), json);

/** The automatic title is the beginning of the first message. */
function wrongTitle(changes: readonly Change[]): string | undefined {
  const title = changes.find(({ table }) => table === "sessions")?.after?.auto_title;
  const content = changes.find(({ table }) => table === "messages")?.after?.content;
  if (title === undefined || content === undefined) return undefined;
  const beginning = String(title).replace(/…$/, "");
  const isBeginning = String(content).trimStart().replaceAll(/\s+/g, " ").startsWith(beginning);
  return isBeginning ? undefined : `the automatic title of ${JSON.stringify(content)} is ${JSON.stringify(title)}`;
}
