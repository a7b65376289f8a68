import * as z from "zod/mini";
import { APPID } from "../../core/credentials/resolve-credentials.ts";
import { invalidInput } from "../../core/errors.ts";
import { insertAuditOnce } from "../store/audit.ts";
import type { Site } from "../store/directory/sites.ts";
import { type Agent, selectAgents } from "../store/home/agents.ts";
import { type AppSummary, selectApps } from "../store/home/apps.ts";
import {
  type ExportedSessions,
  NO_SESSIONS,
  selectSessionIds,
  selectWholeSessions,
} from "../store/home/site-export.ts";
import { authorOf, homeOf, type ServiceContext } from "./service-context.ts";
import { hourOf } from "./sign-in-log.ts";

const LIMIT_RULE = "must be an integer from 1 to 500";
const AFTER_RULE = "is not an `after` of this site's export";

/** Query of GET /admin/sites/:site_id/export. */
export const siteExportQuerySchema = z.strictObject({
  limit: z._default(
    z.pipe(
      z.string().check(z.regex(/^\d{1,3}$/, LIMIT_RULE)),
      z.pipe(z.transform(Number), z.int(LIMIT_RULE).check(z.minimum(1, LIMIT_RULE), z.maximum(500, LIMIT_RULE))),
    ),
    200,
  ),
  after: z.optional(z.string()),
});

/** The kinds of exported items, in their order. A customer comes before their first session. */
const STAGES = ["agents", "apps", "sessions"] as const;

type ExportStage = (typeof STAGES)[number];

/** For each stage, the key before its first item. */
const FIRST_KEYS: Record<ExportStage, string> = { agents: "0", apps: "", sessions: "0" };

/** Where an export continues: after this key of this stage. */
interface ExportPlace {
  stage: ExportStage;
  key: string;
}

export interface ExportedSite {
  /** The site itself: only in the first part. */
  site: Site | undefined;
  agents: Agent[];
  apps: AppSummary[];
  sessions: ExportedSessions;
  /** Where the next part begins; null when this is the last. */
  next: string | null;
  /** Whether it has everything up to `until`. */
  isWhole: boolean;
}

/**
 * A part of a site's export: agents, apps without secrets, and sessions with all that belongs to them and their customers, in the order of
 * their ids. Leaves a row in the audit log, one for each operator and hour.
 *
 * @param input `limit`: how many agents, apps and sessions at most; `after`: `next` of the part before; `until`: the last place that it has
 * @throws ServiceError `invalid_input` for an `after` or `until` of another site, or a malformed one
 */
export async function exportSite(
  ctx: ServiceContext,
  { site, limit, after, until }: { site: Site; limit: number; after?: string | undefined; until?: string | undefined },
): Promise<ExportedSite> {
  const begin = placeOf(site, after);
  const last = until === undefined ? undefined : placeOf(site, until);
  const db = homeOf(ctx, site);
  const exported: ExportedSite = {
    site: after === undefined ? site : undefined,
    agents: [],
    apps: [],
    sessions: NO_SESSIONS,
    next: null,
    isWhole: true,
  };
  let rowsLeft = limit;
  for (const stage of STAGES.slice(STAGES.indexOf(begin.stage))) {
    const key = stage === begin.stage ? begin.key : FIRST_KEYS[stage];
    // One item more than wanted shows that there are more.
    let ids: (string | number)[];
    if (stage === "agents") {
      exported.agents = await selectAgents(db, site.id, Number(key), rowsLeft + 1);
      ids = exported.agents.map(({ id }) => id);
    } else if (stage === "apps") {
      exported.apps = await selectApps(db, site.id, key, rowsLeft + 1);
      ids = exported.apps.map(({ appid }) => appid);
    } else {
      exported.sessions = await selectWholeSessions(db, site.id, Number(key), rowsLeft + 1);
      ids = exported.sessions.ids;
    }
    const wanted = stage === last?.stage ? ids.filter((id) => !isAfter(stage, id, last.key)) : ids;
    const count = Math.min(rowsLeft, wanted.length);
    rowsLeft -= count;
    if (count < ids.length) {
      exported.next = nameOf(site, { stage, key: String(ids[count - 1] ?? key) });
      exported.isWhole = last !== undefined && count === wanted.length && stage === last.stage;
      if (stage !== "sessions") exported[stage].splice(count);
      else exported.sessions = firstOf(exported.sessions, count);
      break;
    }
    if (stage === last?.stage) {
      if (stage !== "sessions") exported.next = nameOf(site, last);
      break;
    }
  }
  const row = { siteId: site.id, action: "site.exported" as const, subject: String(site.id) };
  await insertAuditOnce(db, authorOf(ctx), row, hourOf(ctx.now), "operator");
  return exported;
}

/** What a part of an export has, and where it ends. */
export interface ExportPlan {
  counts: Record<ExportStage, number>;
  /** The place of its last item. */
  until: string;
  hasMore: boolean;
}

/**
 * Looks where a part of an export will end, without reading what it has, and changes nothing. {@link exportSite} with this end and any
 * limits then gives each item between the two places once, also when some were added meanwhile.
 *
 * @throws ServiceError as {@link exportSite} does
 */
export async function planExport(
  ctx: ServiceContext,
  { site, limit, after }: { site: Site; limit: number; after?: string | undefined },
): Promise<ExportPlan> {
  const begin = placeOf(site, after);
  const db = homeOf(ctx, site);
  const idsOf = {
    agents: async (key: string, most: number) =>
      (await selectAgents(db, site.id, Number(key), most)).map(({ id }) => id),
    apps: async (key: string, most: number) => (await selectApps(db, site.id, key, most)).map(({ appid }) => appid),
    sessions: async (key: string, most: number) => selectSessionIds(db, site.id, Number(key), most),
  };
  const counts = { agents: 0, apps: 0, sessions: 0 };
  let [end, rowsLeft, hasMore] = [begin, limit, false];
  for (const stage of STAGES.slice(STAGES.indexOf(begin.stage))) {
    if (hasMore) break;
    const key = stage === begin.stage ? begin.key : FIRST_KEYS[stage];
    const ids = await idsOf[stage](key, rowsLeft + 1);
    counts[stage] = Math.min(rowsLeft, ids.length);
    hasMore = ids.length > rowsLeft;
    rowsLeft -= counts[stage];
    end = { stage, key: String(ids[counts[stage] - 1] ?? key) };
  }
  return { counts, until: nameOf(site, end), hasMore };
}

const isAfter = (stage: ExportStage, id: string | number, key: string) =>
  stage === "apps" ? id > key : Number(id) > Number(key);

/** The first sessions of a part, with what belongs to them. */
function firstOf({ ids, sessions, customers, ...others }: ExportedSessions, count: number): ExportedSessions {
  const firstIds = new Set(ids.slice(0, count));
  return {
    ...others,
    ids: [...firstIds],
    sessions: sessions.filter(({ id }) => firstIds.has(id)),
    customers: customers.filter(({ firstChatId }) => firstIds.has(firstChatId)),
  };
}

const nameOf = ({ id }: Site, { stage, key }: ExportPlace): string => `${id}.${stage}.${key}`;

function placeOf({ id }: Site, after: string | undefined): ExportPlace {
  if (after === undefined) return { stage: "agents", key: FIRST_KEYS.agents };
  const [siteId, name, key = "", more] = after.split(".");
  const stage = STAGES.find((each) => each === name);
  const isKey = stage === "apps" ? key === "" || APPID.test(key) : /^\d{1,16}$/.test(key);
  if (siteId !== String(id) || stage === undefined || !isKey || more !== undefined) {
    throw invalidInput([{ field: "after", message: AFTER_RULE }]);
  }
  return { stage, key };
}
