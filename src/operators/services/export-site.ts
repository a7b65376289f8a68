import * as z from "zod/mini";
import { APPID } from "../../core/credentials/resolve-credentials.ts";
import { invalidInput } from "../../core/errors.ts";
import { insertAuditOncePerHour } from "../store/audit.ts";
import type { Site } from "../store/directory/sites.ts";
import { type Agent, selectAgents } from "../store/home/agents.ts";
import { type AppSummary, selectApps } from "../store/home/apps.ts";
import { type ExportedSessions, NO_SESSIONS, selectWholeSessions } from "../store/home/site-export.ts";
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
}

/**
 * A part of a site's export: agents, apps without secrets, and sessions with all that belongs to them and their customers, in the order of
 * their ids. Leaves a row in the audit log, one for each operator and hour.
 *
 * @param input `limit`: how many agents, apps and sessions at most; `after`: `next` of the part before
 * @throws ServiceError `invalid_input` for an `after` of another site, or a malformed one
 */
export async function exportSite(
  ctx: ServiceContext,
  { site, limit, after }: { site: Site; limit: number; after?: string | undefined },
): Promise<ExportedSite> {
  const begin = placeOf(site, after);
  const db = homeOf(ctx, site);
  const exported: ExportedSite = {
    site: after === undefined ? site : undefined,
    agents: [],
    apps: [],
    sessions: NO_SESSIONS,
    next: null,
  };
  let rowsLeft = limit;
  for (const stage of STAGES.slice(STAGES.indexOf(begin.stage))) {
    const key = stage === begin.stage ? begin.key : FIRST_KEYS[stage];
    // One item more than wanted shows that there are more.
    let rows: { id: string | number }[];
    if (stage === "agents") rows = exported.agents = await selectAgents(db, site.id, Number(key), rowsLeft + 1);
    else if (stage === "apps") {
      exported.apps = await selectApps(db, site.id, key, rowsLeft + 1);
      rows = exported.apps.map(({ appid }) => ({ id: appid }));
    } else {
      exported.sessions = await selectWholeSessions(db, site.id, Number(key), rowsLeft + 1);
      rows = exported.sessions.ids.map((id) => ({ id }));
    }
    if (rows.length > rowsLeft) {
      exported.next = nameOf(site, { stage, key: String(rows[rowsLeft - 1]?.id ?? key) });
      if (stage !== "sessions") exported[stage].pop();
      else exported.sessions = withoutLast(exported.sessions);
      break;
    }
    rowsLeft -= rows.length;
  }
  const row = { siteId: site.id, action: "site.exported" as const, subject: String(site.id) };
  await insertAuditOncePerHour(db, authorOf(ctx), row, hourOf(ctx.now));
  return exported;
}

/** Removes the last session, which only shows that there are more. */
function withoutLast({ ids, sessions, customers, ...others }: ExportedSessions): ExportedSessions {
  const lastId = ids.at(-1);
  return {
    ...others,
    ids: ids.slice(0, -1),
    sessions: sessions.filter(({ id }) => id !== lastId),
    customers: customers.filter(({ firstChatId }) => firstChatId !== lastId),
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
