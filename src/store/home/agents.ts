import { and, asc, eq, gt, ne, notExists, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Author, auditOf, CHANGED } from "../audit-log.ts";
import { agents } from "../schema.ts";

const AGENT = { id: agents.id, name: agents.name, status: agents.status };

export type Agent = Pick<typeof agents.$inferSelect, keyof typeof AGENT>;
export type AgentStatus = Agent["status"];

/** The status of a new agent. */
const NEW_AGENT: AgentStatus = "normal";

/** A list as a table for FROM: `asked.value` is the element, `asked.key` its place. */
const each = (list: unknown[]) => sql`json_each(${JSON.stringify(list)}) AS asked`;

const taken = (db: D1Database, siteId: number, newcomers: { id: number }[]) =>
  drizzle(db)
    .select({ id: agents.id })
    .from(each(newcomers))
    .innerJoin(agents, and(eq(agents.siteId, siteId), eq(agents.id, sql`asked.value ->> 'id'`)))
    .orderBy(sql`asked.key`);

/** The ids of `newcomers` that the site has already. */
export async function listTakenAgents(db: D1Database, siteId: number, newcomers: { id: number }[]): Promise<number[]> {
  return (await taken(db, siteId, newcomers)).map(({ id }) => id);
}

/**
 * Inserts agents in normal status: all of them, or none when the site has one of the ids already.
 *
 * @param newcomers with distinct ids
 * @returns the ids that the site has already; empty when all were inserted
 */
export async function insertAgents(
  db: D1Database,
  siteId: number,
  newcomers: { id: number; name: string }[],
  author: Author,
): Promise<number[]> {
  const store = drizzle(db);
  const audited = {
    siteId: sql`${siteId}`,
    action: "agent.added" as const,
    subject: sql`CAST(asked.value ->> 'id' AS TEXT)`,
    details: sql`json_object('name', asked.value ->> 'name')`,
  };
  const [before] = await store.batch([
    taken(db, siteId, newcomers),
    store.insert(agents).select((query) =>
      query
        .select({
          siteId: sql`${siteId}`.as("site_id"),
          id: sql`asked.value ->> 'id'`.as("id"),
          name: sql`asked.value ->> 'name'`.as("name"),
          status: sql`${NEW_AGENT}`.as("status"),
          revision: sql`0`.as("revision"),
        })
        .from(each(newcomers))
        .where(notExists(taken(db, siteId, newcomers))),
    ),
    auditOf(db, author, audited, each(newcomers), CHANGED),
  ]);
  return before.map(({ id }) => id);
}

/** @returns the changed agent; undefined when the site has no such agent */
export async function updateAgent(
  db: D1Database,
  siteId: number,
  id: number,
  { name, status }: { name?: string | undefined; status?: AgentStatus | undefined },
  author: Author,
): Promise<Agent | undefined> {
  const store = drizzle(db);
  const named = and(eq(agents.siteId, siteId), eq(agents.id, id));
  const subject = sql`CAST(${agents.id} AS TEXT)`;
  const renamed = {
    siteId: agents.siteId,
    action: "agent.renamed" as const,
    subject,
    details: sql`json_object('from', ${agents.name}, 'to', ${name ?? null})`,
  };
  const switched = {
    siteId: agents.siteId,
    action: status === "normal" ? ("agent.enabled" as const) : ("agent.disabled" as const),
    subject,
    details: sql`json_object('name', coalesce(${name ?? null}, ${agents.name}))`,
  };
  // The audits run before the update, while the row has its old values. In SQL nothing is unequal to NULL, so a property that the
  // input does not name gets no audit row.
  const [, , [changed]] = await store.batch([
    auditOf(db, author, renamed, agents, and(named, ne(agents.name, sql`${name ?? null}`))),
    auditOf(db, author, switched, agents, and(named, ne(agents.status, sql`${status ?? null}`))),
    store
      .update(agents)
      .set({ name: name ?? sql`${agents.name}`, status: status ?? sql`${agents.status}` })
      .where(named)
      .returning(AGENT),
  ]);
  return changed;
}

/** A site's agents with an id above `after`, in the order of their ids. */
export function listAgents(db: D1Database, siteId: number, after: number, limit: number): Promise<Agent[]> {
  return drizzle(db)
    .select(AGENT)
    .from(agents)
    .where(and(eq(agents.siteId, siteId), gt(agents.id, after)))
    .orderBy(asc(agents.id))
    .limit(limit)
    .all();
}
