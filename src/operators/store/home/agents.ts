import { and, asc, type Column, eq, exists, gt, ne, notExists, or, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Runtime } from "../../../core/runtime.ts";
import { inOneBatch } from "../../../core/store/batch.ts";
import { inOneTry } from "../../../core/store/run-batch.ts";
import { agents, homeSites } from "../../../core/store/schema.ts";
import { type Author, auditOf, CHANGED, ONE_ROW } from "../audit.ts";
import { changeRow, hasAll } from "../change-row.ts";
import { eachRow, rowField, rowPlace } from "../json-rows.ts";

const AGENT = { id: agents.id, name: agents.name, status: agents.status };

export type Agent = Pick<typeof agents.$inferSelect, keyof typeof AGENT>;
export type AgentStatus = Agent["status"];

const NEW_AGENT: AgentStatus = "normal";

const takenIds = (db: D1Database, siteId: number, newcomers: { id: number }[]) =>
  drizzle(db)
    .select({ id: agents.id })
    .from(eachRow(newcomers))
    .innerJoin(agents, and(eq(agents.siteId, siteId), eq(agents.id, rowField("id"))))
    .orderBy(rowPlace);

/** The ids of `newcomers` that the site already has. */
export async function selectTakenAgents(
  db: D1Database,
  siteId: number,
  newcomers: { id: number }[],
): Promise<number[]> {
  return (await takenIds(db, siteId, newcomers)).map(({ id }) => id);
}

/**
 * Inserts agents in normal status, and one row of the audit log for all of them. Inserts none when the site already has one of the ids.
 *
 * @param newcomers with distinct ids
 * @returns the ids that the site already has; empty when all were inserted; undefined when the home does not have the site, because it was
 *   restored to a time before the site was made
 */
export async function insertAgents(
  db: D1Database,
  siteId: number,
  newcomers: { id: number; name: string }[],
  author: Author,
): Promise<number[] | undefined> {
  const store = drizzle(db);
  const here = store.select({ siteId: homeSites.siteId }).from(homeSites).where(eq(homeSites.siteId, siteId));
  const [firstNewcomer] = newcomers;
  const isOne = newcomers.length === 1;
  const allNewcomers = { ids: newcomers.map(({ id }) => id), names: newcomers.map(({ name }) => name) };
  const audited = {
    siteId: sql`${siteId}`,
    action: "agent.added" as const,
    subject: sql`${isOne ? String(firstNewcomer?.id) : ""}`,
    details: sql`${JSON.stringify(isOne ? { name: firstNewcomer?.name } : allNewcomers)}`,
  };
  const {
    site: [site],
    before,
  } = await inOneBatch(db, {
    site: here,
    before: takenIds(db, siteId, newcomers),
    inserted: store.insert(agents).select((query) =>
      query
        .select({
          siteId: sql`${siteId}`.as("site_id"),
          id: rowField("id").as("id"),
          name: rowField("name").as("name"),
          status: sql`${NEW_AGENT}`.as("status"),
          revision: sql`0`.as("revision"),
        })
        .from(eachRow(newcomers))
        .where(and(exists(here), notExists(takenIds(db, siteId, newcomers)))),
    ),
    audited: auditOf(db, author, audited, ONE_ROW, CHANGED),
  });
  return site && before.map(({ id }) => id);
}

/**
 * Renames, enables or disables an agent. It is tried once. A late commit undoes no newer change.
 *
 * @param answerBy deadline in milliseconds of the runtime's `elapsed`; nothing begins after it
 * @returns the changed agent; undefined when the site has no such agent
 * @throws ServiceError `conflict` as {@link changeRow} does
 */
export async function updateAgent(
  runtime: Runtime,
  db: D1Database,
  { siteId, id }: { siteId: number; id: number },
  wantedChange: { name?: string | undefined; status?: AgentStatus | undefined },
  author: Author,
  answerBy: number,
): Promise<Agent | undefined> {
  const store = drizzle(db);
  const isAgent = and(eq(agents.siteId, siteId), eq(agents.id, id));
  const find = () => store.select().from(agents).where(isAgent);
  const write = async (before: typeof agents.$inferSelect) => {
    const name = wantedChange.name ?? before.name;
    const status = wantedChange.status ?? before.status;
    const unchanged = and(isAgent, eq(agents.revision, before.revision));
    const audited = { siteId: agents.siteId, subject: sql`CAST(${agents.id} AS TEXT)` };
    const auditRowOfRename = {
      ...audited,
      action: "agent.renamed" as const,
      details: sql`json_object('from', ${agents.name}, 'to', ${name})`,
    };
    const auditRowOfSwitch = {
      ...audited,
      action: status === "normal" ? ("agent.enabled" as const) : ("agent.disabled" as const),
      details: sql`json_object('name', ${name}, 'from', ${agents.status}, 'to', ${status})`,
    };
    // The audit statements come before the update, because they need the row's old values.
    const {
      changed,
      now: [now],
    } = await inOneBatch(db, {
      renamed: auditOf(db, author, auditRowOfRename, agents, and(unchanged, ne(agents.name, name))),
      switched: auditOf(db, author, auditRowOfSwitch, agents, and(unchanged, ne(agents.status, status))),
      changed: store
        .update(agents)
        .set({ name, status, revision: before.revision + 1 })
        .where(unchanged),
      now: find(),
    });
    return { changed: changed.meta.changes === 1, now };
  };
  const now = await changeRow({
    read: async () => (await find()).at(0),
    write,
    isFinal: (row) => hasAll(row, wantedChange),
    retry: (call) => inOneTry(runtime, call, answerBy),
  });
  return now && { id: now.id, name: now.name, status: now.status };
}

/** A site's agents with an id above `after`, in the order of their ids. */
export function selectAgents(db: D1Database, siteId: number, after: number, limit: number): Promise<Agent[]> {
  return drizzle(db)
    .select(AGENT)
    .from(agents)
    .where(and(eq(agents.siteId, siteId), gt(agents.id, after)))
    .orderBy(asc(agents.id))
    .limit(limit)
    .all();
}

/** The wanted agents. An undefined field does not filter. */
export interface AgentFilter {
  status?: AgentStatus | undefined;
  /** The exact id. */
  id?: number | undefined;
  /** Words that must all be in the name. */
  words?: string[] | undefined;
}

/** A search looks at this many agents for one page. */
const MOST_READ = 10_000;

/** Agents that fit, in the order of their ids. `next` is the id that the next page starts after; null on the last page. */
export async function findAgents(
  db: D1Database,
  siteId: number,
  filter: AgentFilter,
  after: number,
  limit: number,
): Promise<{ rows: Agent[]; next: number | null }> {
  const store = drizzle(db);
  const isOfSite = and(eq(agents.siteId, siteId), gt(agents.id, after));
  const looked = store.select(AGENT).from(agents).where(isOfSite).orderBy(asc(agents.id)).limit(MOST_READ).as("looked");
  const isId = filter.id === undefined ? undefined : eq(looked.id, filter.id);
  const hasWords = and(...(filter.words ?? []).map((word) => holds(looked.name, word)));
  const isStatus = filter.status === undefined ? undefined : eq(looked.status, filter.status);
  // Both queries are in one batch: otherwise an agent that is added in between would move the end of what was looked at.
  const {
    found,
    end: [end],
  } = await inOneBatch(db, {
    found: store
      .select()
      .from(looked)
      .where(and(or(isId, hasWords), isStatus))
      .orderBy(asc(looked.id))
      .limit(limit + 1),
    end: store
      .select({ id: agents.id })
      .from(agents)
      .where(isOfSite)
      .orderBy(asc(agents.id))
      .limit(1)
      .offset(MOST_READ - 1),
  });
  const rows = found.slice(0, limit);
  return { rows, next: (found.length > limit ? rows.at(-1)?.id : end?.id) ?? null };
}

/** Condition: a text holds a word in small letters, in capitals, or as it is. SQLite's lower() knows A to Z only. */
function holds(text: Column, word: string): SQL | undefined {
  const small = word.toLowerCase();
  const forms = new Set([word, small, word.toUpperCase(), small.charAt(0).toUpperCase() + small.slice(1)]);
  return or(sql`instr(lower(${text}), ${small})`, ...[...forms].map((form) => sql`instr(${text}, ${form})`));
}
