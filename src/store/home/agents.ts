import { and, asc, eq, gt, ne, notExists, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Author, auditOf, CHANGED } from "../audit-log.ts";
import { agents } from "../schema.ts";

const AGENT = { id: agents.id, name: agents.name, status: agents.status };

export type Agent = Pick<typeof agents.$inferSelect, keyof typeof AGENT>;
export type AgentStatus = Agent["status"];

/** What an agent starts as. */
const NEW_AGENT: AgentStatus = "normal";

/** A list as the rows of a FROM: each element is `asked.value`, its place `asked.key`. */
const each = (list: unknown[]) => sql`json_each(${JSON.stringify(list)}) AS asked`;

const taken = (db: D1Database, siteId: number, newcomers: { id: number }[]) =>
  drizzle(db)
    .select({ id: agents.id })
    .from(each(newcomers))
    .innerJoin(agents, and(eq(agents.siteId, siteId), eq(agents.id, sql`asked.value ->> 'id'`)))
    .orderBy(sql`asked.key`);

/** Those of the newcomers' ids that the site has already. */
export async function listTakenAgents(db: D1Database, siteId: number, newcomers: { id: number }[]): Promise<number[]> {
  return (await taken(db, siteId, newcomers)).map(({ id }) => id);
}

/** All of them in normal status, or none: then the ids that the site has already. Ids must be distinct. */
export async function insertAgents(
  db: D1Database,
  siteId: number,
  newcomers: { id: number; name: string }[],
  by: Author,
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
        })
        .from(each(newcomers))
        .where(notExists(taken(db, siteId, newcomers))),
    ),
    auditOf(db, by, audited, each(newcomers), CHANGED),
  ]);
  return before.map(({ id }) => id);
}

/** Undefined when the site has no such agent. */
export async function updateAgent(
  db: D1Database,
  siteId: number,
  id: number,
  { name, status }: { name?: string | undefined; status?: AgentStatus | undefined },
  by: Author,
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
  // Both audits run before the update, while the row still says what it said. Nothing is unequal to NULL, so what was not asked
  // for is not audited.
  const [, , [changed]] = await store.batch([
    auditOf(db, by, renamed, agents, and(named, ne(agents.name, sql`${name ?? null}`))),
    auditOf(db, by, switched, agents, and(named, ne(agents.status, sql`${status ?? null}`))),
    store
      .update(agents)
      .set({ name: name ?? sql`${agents.name}`, status: status ?? sql`${agents.status}` })
      .where(named)
      .returning(AGENT),
  ]);
  return changed;
}

/** A site's agents by id, from the one after `after`. */
export function listAgents(db: D1Database, siteId: number, after: number, limit: number): Promise<Agent[]> {
  return drizzle(db)
    .select(AGENT)
    .from(agents)
    .where(and(eq(agents.siteId, siteId), gt(agents.id, after)))
    .orderBy(asc(agents.id))
    .limit(limit)
    .all();
}

/** The status of each of the ids that is an agent of the site. */
export async function agentStatuses(
  db: D1Database,
  siteId: number,
  asked: number[],
): Promise<Map<number, AgentStatus>> {
  const found = await drizzle(db)
    .select({ id: agents.id, status: agents.status })
    .from(each(asked))
    // CROSS JOIN keeps the order: left to itself, SQLite walks all agents of the site.
    .crossJoin(agents)
    .where(and(eq(agents.siteId, siteId), eq(agents.id, sql`asked.value`)))
    .all();
  return new Map(found.map(({ id, status }) => [id, status]));
}
