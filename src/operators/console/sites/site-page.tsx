import { refusalOf } from "../../../core/http/faults.ts";
import { listAgents } from "../../services/agents.ts";
import { listApps } from "../../services/apps.ts";
import { LIMIT_MS } from "../../services/attention.ts";
import { readHealth } from "../../services/health.ts";
import { siteUnknown } from "../../services/refusals.ts";
import { COUNT_LIMIT, countSessions, listSessions, SESSION_STATUSES } from "../../services/sessions.ts";
import { readSiteUsage } from "../../services/site-usage.ts";
import { finishSite, hasEnded, readRetention, type Site } from "../../services/sites.ts";
import { AgentTable } from "../agents/agent-page.tsx";
import { AppTable } from "../apps/apps-page.tsx";
import { sitePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { beginWork, isDraft } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { FieldsForm } from "../parts/form.tsx";
import { Card, Facts, Part, Time, Unread } from "../parts/parts.tsx";
import { UsageCard } from "../parts/usage-card.tsx";
import { SessionTable, statusKind, statusText } from "../sessions/session-table.tsx";
import { FirstCall } from "../sessions/sessions-page.tsx";
import { startOfDayAndWeek, useView } from "../view.ts";
import { AttentionList, readNeeds } from "./attention-list.tsx";
import { endedPage } from "./export-and-deletion.tsx";
import { RetentionProgress } from "./site-settings.tsx";

export async function sitePage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  if (site.status === "creating") return unfinishedPage(c, site);
  const health = await readHealth(ctx, LIMIT_MS, site.home);
  // The parts of a silent home would keep the page waiting for seconds.
  const asksHome = health.homes[site.home] !== "silent" || hasEnded(site);
  // The deletion of a closed site may have begun without the directory knowing.
  const ended = site.status !== "open" && asksHome && (await endedPage(c, site));
  if (ended) return ended;
  if (hasEnded(site)) throw siteUnknown();
  const path = (page: string) => sitePath(site, page);
  const firstItems = { site, limit: 5 };
  const { day, week } = startOfDayAndWeek(view.now, view.timeZone);
  const faults: Error[] = [];
  /** Undefined for what could not be read: its error goes only into the log, and the page shows the other parts. */
  const tried = async <Value,>(read: () => Promise<Value>) =>
    asksHome ? read().catch((fault: Error) => void faults.push(fault)) : undefined;
  const [counts, sessions, apps, agents, usage, retention, { needs, troubleOf }] = await Promise.all([
    tried(() => countSessions(ctx, { site, since: [day, week] })),
    tried(() => listSessions(ctx, firstItems)),
    tried(() => listApps(ctx, firstItems)),
    tried(() => listAgents(ctx, firstItems)),
    tried(() => readSiteUsage(ctx, site)),
    site.retentionDays !== null && tried(() => readRetention(ctx, { site })),
    readNeeds(c, [site], health),
  ]);
  if (faults[0] && !(counts || sessions || apps || agents || usage || retention)) throw faults[0];
  for (const fault of faults) refusalOf(fault, c.var.trace);
  // Only a retention takes all sessions of a site away. Calls that were counted came, even when an erasure left no session of them.
  const isYoung = site.retentionDays === null || view.now - site.createdAt < site.retentionDays * 86_400;
  const isNew = isYoung && sessions?.items.length === 0 && !usage?.days.some(({ accepted }) => accepted > 0);
  const allAgents = view.may(path("/agents")) ? t("Manage agents") : t("All agents");
  const body = (
    <>
      <AttentionList needs={needs} />
      {isNew && apps && agents && (
        <Card title={t("Three steps to the first session")}>
          <FirstCall
            site={site}
            choices={{ apps: apps.items, agents: agents.items.filter(({ status }) => status === "normal") }}
            origin={new URL(c.req.url).origin}
          />
        </Card>
      )}
      {retention && <RetentionProgress retention={retention} />}
      {counts ? (
        <div class="tiles">
          <Counts label={t("Sessions today")} counts={counts[0]} />
          <Counts label={t("Sessions this week")} counts={counts[1]} />
        </div>
      ) : (
        <Unread />
      )}
      <Part title={t("Calls")} all={[path("/refusals"), t("Refused calls")]}>
        {usage ? <UsageCard usage={usage} site={site} /> : <Unread />}
      </Part>
      <Part title={t("Latest sessions")} all={[path("/sessions"), t("All sessions")]}>
        {sessions ? <SessionTable siteId={site.id} sessions={sessions.items} /> : <Unread />}
      </Part>
      <Part title={t("Apps")} all={[path("/apps"), view.may(path("/apps")) ? t("Manage apps") : t("All apps")]}>
        {apps ? <AppTable siteId={site.id} apps={apps.items} uses={usage} /> : <Unread />}
      </Part>
      <Part title={t("Agents")} all={[path("/agents"), allAgents]}>
        {agents ? <AgentTable siteId={site.id} agents={agents.items} /> : <Unread />}
      </Part>
    </>
  );
  return showPage(c, { title: site.name, site: { ...site, trouble: troubleOf(site), tab: "overview" }, body });
}

function Counts({ label, counts }: { label: string; counts: Record<string, number> | undefined }) {
  const view = useView();
  const byStatus = SESSION_STATUSES.map((status) => ({ status, count: counts?.[status] ?? 0 }));
  // Counting stops at COUNT_LIMIT, so the real number and the total may be larger.
  const text = (count: number) => (count < COUNT_LIMIT ? view.number(count) : `${view.number(COUNT_LIMIT)}+`);
  const isExact = byStatus.every(({ count }) => count < COUNT_LIMIT);
  const total = byStatus.reduce((sum, { count }) => sum + count, 0);
  return (
    <section class="card tile">
      <h2>{label}</h2>
      <p class="total">{isExact ? view.number(total) : text(COUNT_LIMIT)}</p>
      <dl>
        {byStatus.map(({ status, count }) => (
          <div class={statusKind(status)}>
            <dt>{statusText(view, status)}</dt>
            <dd>{text(count)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Finishes a site whose home did not answer when it was created. It does not use `once`, because a second press changes nothing. */
export async function postFinish(c: PageContext, site: Site): Promise<Response> {
  const result = (await isDraft(c)) ? "draft" : "site";
  if (result === "site" && site.status === "creating") {
    beginWork(c);
    await finishSite(c.var.ctx, { site });
  }
  return c.redirect(await doneLocation(c, sitePath(site), result), 303);
}

async function unfinishedPage(c: PageContext, site: Site): Promise<Response> {
  const { t } = c.var;
  const body = (
    <section class="card">
      <p>{t("Its home did not answer. Finish it when the home answers: until then it has no apps and no agents.")}</p>
      <Facts
        rows={[
          [t("Home"), site.home],
          [t("First chat_id"), site.firstChatId],
          [t("Begun"), <Time at={site.createdAt} />],
        ]}
      />
      <FieldsForm action={sitePath(site, "/finish")} fields={{}} button={t("Finish this site")} />
    </section>
  );
  return showPage(c, { title: site.name, site: { ...site, tab: "overview" }, body });
}
