import { type SQL, sql } from "drizzle-orm";
import { type Author, audit } from "../audit-log.ts";
import { agents } from "../schema.ts";
import { insertInto, type Placeholders, statement } from "../statement.ts";

export type AgentStatus = "normal" | "disabled";
export type Agent = { id: number; name: string; status: AgentStatus };

const AGENT = sql`${agents.id} AS "id", ${agents.name} AS "name", ${agents.status} AS "status"`;

type Newcomers = { siteId: number /** A JSON array of `{id, name}`. */; newcomers: string };

const selectTaken = statement<Newcomers>(
  (v) => sql`SELECT ${agents.id} AS "id" FROM json_each(${v.newcomers}) AS asked
    JOIN ${agents} ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value ->> 'id' ORDER BY asked.key`,
);

const insert = statement<Newcomers>(
  (v) => sql`${insertInto(agents, agents.siteId, agents.id, agents.name, agents.status)}
    SELECT ${v.siteId}, asked.value ->> 'id', asked.value ->> 'name', 'normal' FROM json_each(${v.newcomers}) AS asked
    WHERE NOT EXISTS (SELECT 1 FROM json_each(${v.newcomers}) AS other
      JOIN ${agents} ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = other.value ->> 'id')`,
);

const auditInsert = audit<Author & Newcomers>((v) => ({
  siteId: sql`${v.siteId}`,
  action: "agent.added",
  subject: sql`CAST(asked.value ->> 'id' AS TEXT)`,
  details: sql`json_object('name', asked.value ->> 'name')`,
  from: sql`FROM json_each(${v.newcomers}) AS asked WHERE changes() > 0`,
}));

/** Those of the newcomers' ids that the site has already. */
export async function listTakenAgents(db: D1Database, siteId: number, newcomers: { id: number }[]): Promise<number[]> {
  const { results } = await selectTaken(db, { siteId, newcomers: JSON.stringify(newcomers) }).all<{ id: number }>();
  return results.map(({ id }) => id);
}

/** All of them in normal status, or none: then the ids that the site has already. Ids must be distinct. */
export async function insertAgents(
  db: D1Database,
  siteId: number,
  newcomers: { id: number; name: string }[],
  by: Author,
): Promise<number[]> {
  const values = { siteId, newcomers: JSON.stringify(newcomers) };
  const [taken] = await db.batch<{ id: number }>([
    selectTaken(db, values),
    insert(db, values),
    auditInsert(db, { ...values, ...by }),
  ]);
  return (taken?.results ?? []).map(({ id }) => id);
}

type Change = { siteId: number; id: number; name: string | null; status: AgentStatus | null };

const changed = (v: Placeholders<Change>): SQL => sql`${agents.siteId} = ${v.siteId} AND ${agents.id} = ${v.id}`;

// Both audits run before the update, while the row still says what it said.
const auditName = audit<Author & Change>((v) => ({
  siteId: sql`${v.siteId}`,
  action: "agent.renamed",
  subject: sql`CAST(${agents.id} AS TEXT)`,
  details: sql`json_object('from', ${agents.name}, 'to', ${v.name})`,
  from: sql`FROM ${agents} WHERE ${changed(v)} AND ${agents.name} <> ${v.name}`,
}));

const auditStatus = audit<Author & Change>((v) => ({
  siteId: sql`${v.siteId}`,
  action: sql`CASE ${v.status} WHEN 'normal' THEN 'agent.enabled' ELSE 'agent.disabled' END`,
  subject: sql`CAST(${agents.id} AS TEXT)`,
  details: sql`json_object('name', coalesce(${v.name}, ${agents.name}))`,
  from: sql`FROM ${agents} WHERE ${changed(v)} AND ${agents.status} <> ${v.status}`,
}));

const update = statement<Change>(
  (v) => sql`UPDATE ${agents} SET name = coalesce(${v.name}, name), status = coalesce(${v.status}, status)
    WHERE ${changed(v)} RETURNING id, name, status`,
);

/** Undefined when the site has no such agent. */
export async function updateAgent(
  db: D1Database,
  siteId: number,
  id: number,
  change: { name?: string | undefined; status?: AgentStatus | undefined },
  by: Author,
): Promise<Agent | undefined> {
  const values = { siteId, id, name: change.name ?? null, status: change.status ?? null };
  const results = await db.batch<Agent>([
    auditName(db, { ...values, ...by }),
    auditStatus(db, { ...values, ...by }),
    update(db, values),
  ]);
  return results.at(-1)?.results[0];
}

const list = statement<{ siteId: number; after: number; limit: number }>(
  (v) => sql`SELECT ${AGENT} FROM ${agents} WHERE ${agents.siteId} = ${v.siteId} AND ${agents.id} > ${v.after}
    ORDER BY ${agents.id} LIMIT ${v.limit}`,
);

/** A site's agents by id, from the one after `after`. */
export async function listAgents(db: D1Database, siteId: number, after: number, limit: number): Promise<Agent[]> {
  return (await list(db, { siteId, after, limit }).all<Agent>()).results;
}

const selectStatuses = statement<{ siteId: number; asked: string }>(
  (v) => sql`SELECT ${agents.id} AS "id", ${agents.status} AS "status" FROM json_each(${v.asked}) AS asked
    CROSS JOIN ${agents} ON ${agents.siteId} = ${v.siteId} AND ${agents.id} = asked.value`,
);

/** The status of each of the ids that is an agent of the site. */
export async function agentStatuses(
  db: D1Database,
  siteId: number,
  asked: number[],
): Promise<Map<number, AgentStatus>> {
  const { results } = await selectStatuses(db, { siteId, asked: JSON.stringify(asked) }).all<Omit<Agent, "name">>();
  return new Map(results.map(({ id, status }) => [id, status]));
}
