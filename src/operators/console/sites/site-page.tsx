import { refusalOf } from "../../../core/http/faults.ts";
import { listAgents } from "../../services/agents.ts";
import { listApps } from "../../services/apps.ts";
import { LIMIT_MS, readAttention } from "../../services/attention.ts";
import { readDeletion } from "../../services/delete-site.ts";
import { readHealth } from "../../services/health.ts";
import { homeFill } from "../../services/home-fill.ts";
import { siteUnknown } from "../../services/refusals.ts";
import {
  COUNT_LIMIT,
  countSessions,
  listSessions,
  SESSION_STATUSES,
  type SessionStatus,
} from "../../services/sessions.ts";
import { hasEnded, readRetention, type Site } from "../../services/sites.ts";
import { AgentTable } from "../agents/agent-table.tsx";
import { AppTable } from "../apps/apps-page.tsx";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { SessionTable, statusKind, statusText } from "../sessions/session-table.tsx";
import { startOfDayAndWeek, type View } from "../view.ts";
import { AttentionList, fillingHomes, needsOf, partsInNeed, troubleOf } from "./attention-list.tsx";
import { endedPage } from "./ended-site.tsx";
import { RetentionProgress } from "./retention-card.tsx";
import { readSiteUsage } from "./site-usage.ts";
import { unfinishedPage } from "./unfinished-site.tsx";
import { UsageCard } from "./usage-card.tsx";

const MOST_SHOWN = 5;

export async function sitePage(c: PageContext, site: Site): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const { ctx } = c.var;
  if (site.status === "creating") return unfinishedPage(c, site);
  // The deletion of a closed site may have begun without the directory knowing.
  const progress = site.status === "open" ? undefined : await readDeletion(ctx, { site });
  if (progress !== undefined) return endedPage(c, site, progress);
  if (hasEnded(site)) throw siteUnknown();
  const firstItems = { site, limit: MOST_SHOWN };
  const { day, week } = startOfDayAndWeek(view.now, view.timeZone);
  const health = await readHealth(ctx, LIMIT_MS, site.home);
  const settledParts = Promise.allSettled([
    countSessions(ctx, { site, since: [day, week] }),
    listSessions(ctx, firstItems),
    listApps(ctx, firstItems),
    listAgents(ctx, firstItems),
    site.retentionDays === null ? null : readRetention(ctx, { site }),
    readSiteUsage(ctx, site),
  ]);
  const [parts, attention, fills] = await Promise.all([
    settledParts,
    readAttention(ctx, [site], health),
    // A site's page works without the directory, which may be down.
    view.may("/console/homes", "GET") ? homeFill(ctx).catch(() => []) : [],
  ]);
  const needs = [
    ...partsInNeed(view, health),
    ...fillingHomes(
      view,
      fills.filter(({ home }) => home === site.home),
    ),
    ...needsOf(view, attention, [site]),
  ];
  const faults = parts.flatMap((part) => (part.status === "rejected" ? [part.reason] : []));
  const reads = parts.filter((part) => part.status === "rejected" || part.value !== null);
  if (faults.length === reads.length) throw faults[0];
  // The errors go only into the log. The page shows the parts that could be read.
  for (const fault of faults) refusalOf(fault, c.var.trace);
  const [counts, sessions, apps, agents, retention, usage] = parts;
  const path = `/console/sites/${site.id}`;
  const body = (
    <>
      <AttentionList view={view} needs={needs} />
      {retention.status === "fulfilled" && retention.value !== null && (
        <RetentionProgress view={view} retention={retention.value} />
      )}
      {counts.status === "rejected" ? (
        <UnreadPart view={view} />
      ) : (
        <div class="tiles">
          <Counts view={view} label={t("Sessions today")} counts={counts.value[0]} />
          <Counts view={view} label={t("Sessions this week")} counts={counts.value[1]} />
        </div>
      )}
      <Part title={t("Calls")} href={`${path}/refusals`} all={t("Refused calls")}>
        {usage.status === "rejected" ? (
          <UnreadPart view={view} />
        ) : (
          <UsageCard view={view} usage={usage.value} site={site} />
        )}
      </Part>
      <Part title={t("Latest sessions")} href={`${path}/sessions`} all={t("All sessions")}>
        {sessions.status === "rejected" ? (
          <UnreadPart view={view} />
        ) : (
          <SessionTable siteId={site.id} sessions={sessions.value.items} />
        )}
      </Part>
      <Part title={t("Apps")} href={`${path}/apps`} all={view.may(`${path}/apps`) ? t("Manage apps") : t("All apps")}>
        {apps.status === "rejected" ? (
          <UnreadPart view={view} />
        ) : (
          <AppTable
            siteId={site.id}
            apps={apps.value.items}
            uses={usage.status === "rejected" ? undefined : usage.value}
          />
        )}
      </Part>
      <Part
        title={t("Agents")}
        href={`${path}/agents`}
        all={view.may(`${path}/agents`) ? t("Manage agents") : t("All agents")}
      >
        {agents.status === "rejected" ? (
          <UnreadPart view={view} />
        ) : (
          <AgentTable view={view} siteId={site.id} agents={agents.value.items} />
        )}
      </Part>
    </>
  );
  const trouble = troubleOf(site, attention, health);
  return showPage(c, { title: site.name, site: { ...site, trouble, tab: "overview" }, body });
}

/** Replaces a part of the page that could not be read. */
const UnreadPart = ({ view }: { view: View }) => (
  <p class="empty">{view.t("This part could not be read. Try again in a moment.")}</p>
);

function Counts({
  view,
  label,
  counts,
}: {
  view: View;
  label: string;
  counts: Record<SessionStatus, number> | undefined;
}) {
  const number = new Intl.NumberFormat(view.language);
  const shown = SESSION_STATUSES.map((status) => ({ status, count: counts?.[status] ?? 0 }));
  // Counting stops at COUNT_LIMIT, so the real number and the total may be larger.
  const text = (count: number) => (count < COUNT_LIMIT ? number.format(count) : `${number.format(COUNT_LIMIT)}+`);
  const isExact = shown.every(({ count }) => count < COUNT_LIMIT);
  const total = shown.reduce((sum, { count }) => sum + count, 0);
  return (
    <section class="card tile">
      <h2>{label}</h2>
      <p class="total">{isExact ? number.format(total) : text(COUNT_LIMIT)}</p>
      <dl>
        {shown.map(({ status, count }) => (
          <div class={statusKind(status)}>
            <dt>{statusText(view, status)}</dt>
            <dd>{text(count)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Part({ title, href, all, children }: { title: string; href: string; all: string; children?: unknown }) {
  return (
    <section class="part">
      <div class="head">
        <h2>{title}</h2>
        <a href={href}>{all}</a>
      </div>
      {children}
    </section>
  );
}
