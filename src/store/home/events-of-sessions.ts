import { sql } from "drizzle-orm";
import { events, participants, sessions } from "../schema.ts";
import { type Placeholders, type Statement, statement } from "../statement.ts";
import { literal } from "./claim.ts";

/**
 * Finding the events of a customer's sessions without an index, which would cost every call a row.
 * - The event of a session's creation is found by its seq: those of later sessions have higher ones.
 * - The event of agents who were added has the very second of their rows in `participants`, and names as many agents.
 * - Any other event of a session is looked for from its creation to the newest event.
 */

/**
 * The most seconds that the time of an event may be behind the time of an earlier one: `created_at` is the clock of the isolate
 * that took the call, and `seq` counts the commits.
 */
export const SKEW_SECONDS = 60;

/** Some sessions of one customer, with the lowest ids. */
export type Chosen = {
  siteId: number;
  externalId: string;
  /** Only sessions with a higher id. */
  after: number;
  /** Only sessions up to this id. */
  until: number;
  limit: number;
};

/** The events of the chosen sessions. */
export interface FoundEvents {
  /** The chosen sessions, ascending. */
  chatIds: number[];
  seqs: number[];
  /** The site's newest seq: an event above it came later, and may be of these sessions too. 0 without events or sessions. */
  newestSeq: number;
}

type Values<More> = Placeholders<Chosen & More>;

const CREATED = literal("session.created");
const ADDED = literal("session.agents_added");

/** The types of events that are found without reading the log. */
export const LOCATED_EVENTS = ["session.created", "session.agents_added"];

/** Seconds around the time of an event within which its neighbours in the order of seq nearly always are. */
const NEAR_SECONDS = 2;

/** The ids of the chosen sessions, and when they were created. */
export const chosenSessions = (
  v: Values<unknown>,
) => sql`SELECT ${sessions.id} AS id, ${sessions.createdAt} AS created_at FROM ${sessions}
  WHERE ${sessions.siteId} = ${v.siteId} AND ${sessions.customerExternalId} = ${v.externalId}
    AND ${sessions.id} > ${v.after} AND ${sessions.id} <= ${v.until} ORDER BY ${sessions.id} LIMIT ${v.limit}`;

/** The first event of a creation from a seq on. */
const nextCreated = (v: Values<unknown>, from: string) =>
  sql`(SELECT next.seq FROM ${events} AS next
    WHERE next.site_id = ${v.siteId} AND next.seq >= ${sql.raw(from)} AND next.type = ${CREATED} ORDER BY next.seq LIMIT 1)`;

const oldest = (v: Values<unknown>) => sql`(SELECT min(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId})`;
const newest = (v: Values<unknown>) => sql`(SELECT max(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId})`;

interface CreationRow {
  id: number;
  createdAt: number;
  /** No event of the session has a lower seq; null on a site without events. */
  low: number | null;
  /** The event of its creation, if it is kept. */
  seq: number | null;
  /** How many participants that event names; null when it is erased. */
  joined: number | null;
  /** The site's newest seq. */
  newest: number | null;
}

/** Reads {@link CreationRow}s: a binary search for each session. */
const selectCreations: Statement<Chosen> = statement(
  (v) => sql`WITH RECURSIVE chosen AS MATERIALIZED (${chosenSessions(v)}),
    search(id, low, high) AS (
      SELECT id, ${oldest(v)}, ${newest(v)} + 1 FROM chosen
      UNION ALL
      SELECT search.id, iif(probe.session_id < search.id, (low + high) / 2 + 1, low), iif(probe.session_id < search.id, high, (low + high) / 2)
      FROM search LEFT JOIN ${events} AS probe ON probe.site_id = ${v.siteId} AND probe.seq = ${nextCreated(v, "(low + high) / 2")}
      WHERE low < high),
    place AS MATERIALIZED (SELECT id, max(low) AS low FROM search GROUP BY id)
    SELECT chosen.id AS id, chosen.created_at AS createdAt, place.low AS low, created.seq AS seq,
      json_array_length(created.data, '$.participants') AS joined,
      ${newest(v)} AS newest
    FROM chosen JOIN place ON place.id = chosen.id
    LEFT JOIN ${events} AS created ON created.site_id = ${v.siteId} AND created.seq = ${nextCreated(v, "place.low")}
      AND created.session_id = chosen.id
    ORDER BY chosen.id`,
);

/** How many agents joined a session in a second. */
interface JoiningRow {
  id: number;
  at: number;
  agents: number;
}

/** Reads {@link JoiningRow}s: how many agents joined each session at a time. */
const selectJoinings: Statement<Chosen> = statement(
  (v) => sql`SELECT ${participants.sessionId} AS id, ${participants.addedAt} AS at, count(*) AS agents
    FROM (${chosenSessions(v)}) AS chosen CROSS JOIN ${participants}
    WHERE ${participants.siteId} = ${v.siteId} AND ${participants.sessionId} = chosen.id
    GROUP BY ${participants.sessionId}, ${participants.addedAt}`,
);

/** The places in the order of seq where the events of some times, a JSON array of Unix seconds, begin. */
const selectPlaces: Statement<{ siteId: number; times: string }> = statement(
  (v) => sql`WITH RECURSIVE search(at, low, high) AS (
      SELECT value, (SELECT min(seq) FROM ${events} WHERE ${events.siteId} = ${v.siteId}), (SELECT max(seq) + 1 FROM ${events} WHERE ${events.siteId} = ${v.siteId})
      FROM json_each(${v.times})
      UNION ALL
      SELECT at, iif(probe.created_at < at, (low + high) / 2 + 1, low), iif(probe.created_at < at, high, (low + high) / 2)
      FROM search LEFT JOIN ${events} AS probe ON probe.site_id = ${v.siteId} AND probe.seq = (SELECT next.seq FROM ${events} AS next
        WHERE next.site_id = ${v.siteId} AND next.seq >= (low + high) / 2 ORDER BY next.seq LIMIT 1)
      WHERE low < high)
    SELECT at, max(low) AS seq FROM search GROUP BY at`,
);

interface AddedRow extends JoiningRow {
  seq: number;
}

/** The events of agents who were added to some sessions, within stretches of seq: a JSON array of `[from, to]`, `to` excluded. */
const selectAdded: Statement<{ siteId: number; stretches: string; chatIds: string }> = statement(
  (v) => sql`SELECT ${events.seq} AS seq, ${events.sessionId} AS id, ${events.createdAt} AS at,
      json_array_length(${events.data}, '$.agent_ids') AS agents
    FROM json_each(${v.stretches}) AS stretch CROSS JOIN ${events}
    WHERE ${events.siteId} = ${v.siteId} AND ${events.seq} >= stretch.value ->> 0 AND ${events.seq} < stretch.value ->> 1
      AND ${events.type} = ${ADDED} AND ${events.sessionId} IN (SELECT value FROM json_each(${v.chatIds}))`,
);

/** The events of some sessions from a seq on, of the types that are not located. */
const selectOthers: Statement<{ siteId: number; low: number; types: string; chatIds: string }> = statement(
  (v) => sql`SELECT ${events.seq} AS seq FROM ${events}
    WHERE ${events.siteId} = ${v.siteId} AND ${events.seq} >= ${v.low} AND ${events.type} IN (SELECT value FROM json_each(${v.types}))
      AND ${events.sessionId} IN (SELECT value FROM json_each(${v.chatIds}))`,
);

/**
 * Chooses sessions of a customer and finds all their events.
 *
 * @param types all types of events that sessions have
 */
export async function findEvents(db: D1Database, chosen: Chosen, types: readonly string[]): Promise<FoundEvents> {
  const { siteId } = chosen;
  const [creations, joinings] = (await db.batch([selectCreations(db, chosen), selectJoinings(db, chosen)])) as [
    D1Result<CreationRow>,
    D1Result<JoiningRow>,
  ];
  const sessions = creations.results;
  const found = { chatIds: sessions.map(({ id }) => id), newestSeq: sessions[0]?.newest ?? 0 };
  const low = Math.min(...sessions.map((each) => each.low ?? Number.POSITIVE_INFINITY));
  if (!Number.isFinite(low)) return { ...found, seqs: [] };
  const chatIds = JSON.stringify(found.chatIds);
  const seqs = new Set(sessions.flatMap(({ seq }) => seq ?? []));
  let missing = laterJoinings(sessions, joinings.results);
  // Most are near. Those of clocks that are wrong by more are looked for in a wider place.
  for (const around of [NEAR_SECONDS, SKEW_SECONDS]) {
    if (missing.length === 0) break;
    const stretches = await stretchesAround(db, siteId, low, missing, around);
    const { results } = await selectAdded(db, { siteId, stretches, chatIds }).all<AddedRow>();
    for (const { seq } of results) seqs.add(seq);
    missing = missing.filter((joining) => joining.agents > agentsOf(results, joining));
  }
  const others = types.filter((type) => !LOCATED_EVENTS.includes(type));
  if (others.length > 0) {
    const asked = selectOthers(db, { siteId, low, types: JSON.stringify(others), chatIds });
    for (const { seq } of (await asked.all<{ seq: number }>()).results) seqs.add(seq);
  }
  return { ...found, seqs: [...seqs] };
}

/** The agents who joined after the creation, and those in its second whom its event does not name. */
function laterJoinings(creations: CreationRow[], joinings: JoiningRow[]): JoiningRow[] {
  const byId = new Map(creations.map((row) => [row.id, row]));
  const later = joinings.map(({ id, at, agents }) => {
    const session = byId.get(id);
    return { id, at, agents: at === session?.createdAt ? agents - (session.joined ?? 0) : agents };
  });
  return later.filter(({ agents }) => agents > 0);
}

/** How many agents the events of one joining name. */
const agentsOf = (rows: AddedRow[], { id, at }: JoiningRow): number =>
  rows.reduce((sum, row) => sum + (row.id === id && row.at === at ? row.agents : 0), 0);

/** The stretches of seq around some times, as JSON, without overlaps, so that no event is read twice. */
async function stretchesAround(
  db: D1Database,
  siteId: number,
  low: number,
  joinings: JoiningRow[],
  around: number,
): Promise<string> {
  const times = [...new Set(joinings.map(({ at }) => at))].sort((a, b) => a - b);
  const edges = times.flatMap((at) => [at - around, at + around + 1]);
  const places = await selectPlaces(db, { siteId, times: JSON.stringify([...new Set(edges)]) }).all<{
    at: number;
    seq: number;
  }>();
  const placeOf = new Map(places.results.map(({ at, seq }) => [at, seq]));
  const apart: [number, number][] = [];
  for (const at of times) {
    const [from, to] = [Math.max(low, placeOf.get(at - around) ?? 0), placeOf.get(at + around + 1) ?? 0];
    const last = apart.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else apart.push([from, to]);
  }
  return JSON.stringify(apart);
}
