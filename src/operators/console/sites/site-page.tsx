import type { Child } from "hono/jsx";
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
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { isDraft } from "../forms/submit-once.ts";
import { showPage } from "../layout.tsx";
import { FieldsForm } from "../parts/form.tsx";
import { Facts, Time } from "../parts/parts.tsx";
import { UsageCard } from "../parts/usage-card.tsx";
import { FirstCall } from "../sessions/first-call.tsx";
import { SessionTable, statusKind, statusText } from "../sessions/session-table.tsx";
import { startOfDayAndWeek, useView } from "../view.ts";
import { AttentionList, readNeeds } from "./attention-list.tsx";
import { endedPage } from "./export-and-deletion.tsx";
import { RetentionProgress } from "./site-settings.tsx";

export async function sitePage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  if (site.status === "creating") return unfinishedPage(c, site);
  // The deletion of a closed site may have begun without the directory knowing.
  const ended = site.status === "open" ? undefined : await endedPage(c, site);
  if (ended !== undefined) return ended;
  if (hasEnded(site)) throw siteUnknown();
  const firstItems = { site, limit: 5 };
  const { day, week } = startOfDayAndWeek(view.now, view.timeZone);
  const health = await readHealth(ctx, LIMIT_MS, site.home);
  const [parts, { needs, troubleOf }] = await Promise.all([
    Promise.allSettled([
      countSessions(ctx, { site, since: [day, week] }),
      listSessions(ctx, firstItems),
      listApps(ctx, firstItems),
      listAgents(ctx, firstItems),
      readSiteUsage(ctx, site),
      ...(site.retentionDays === null ? [] : [readRetention(ctx, { site })]),
    ]),
    readNeeds(c, [site], health),
  ]);
  const faults = parts.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  if (faults.length === parts.length) throw faults[0];
  // The errors go only into the log. The page shows the parts that could be read.
  for (const fault of faults) refusalOf(fault, c.var.trace);
  const [counts, sessions, apps, agents, usage, retention] = parts;
  const isRead = sessions.status === "fulfilled" && apps.status === "fulfilled" && agents.status === "fulfilled";
  // Only a retention takes all sessions of a site away. Calls that were counted came, even when an erasure left no session of them.
  const isYoung = site.retentionDays === null || view.now - site.createdAt < site.retentionDays * 86_400;
  const hasCounted = usage.status === "fulfilled" && usage.value.days.some(({ accepted }) => accepted > 0);
  const manage = (page: string, label: string, look: string) => (view.may(sitePath(site, page)) ? label : look);
  /** A part of the page with a link to all of it. A sentence stands in place of a part that could not be read. */
  const part = <Value,>(
    title: string,
    page: string,
    all: string,
    read: PromiseSettledResult<Value>,
    show: (value: Value) => Child,
  ) => (
    <section class="part">
      <div class="head">
        <h2>{title}</h2>
        <a href={sitePath(site, page)}>{all}</a>
      </div>
      {read.status === "fulfilled" ? show(read.value) : unread}
    </section>
  );
  const unread = <p class="empty">{t("This part could not be read. Try again in a moment.")}</p>;
  const body = (
    <>
      <AttentionList needs={needs} />
      {isRead && isYoung && !hasCounted && sessions.value.items.length === 0 && (
        <section class="card">
          <h2>{t("Three steps to the first session")}</h2>
          <FirstCall
            site={site}
            choices={{ apps: apps.value.items, agents: agents.value.items.filter(({ status }) => status === "normal") }}
            origin={new URL(c.req.url).origin}
          />
        </section>
      )}
      {retention?.status === "fulfilled" && <RetentionProgress retention={retention.value} />}
      {counts.status === "rejected" ? (
        unread
      ) : (
        <div class="tiles">
          <Counts label={t("Sessions today")} counts={counts.value[0]} />
          <Counts label={t("Sessions this week")} counts={counts.value[1]} />
        </div>
      )}
      {part(t("Calls"), "/refusals", t("Refused calls"), usage, (value) => (
        <UsageCard usage={value} site={site} />
      ))}
      {part(t("Latest sessions"), "/sessions", t("All sessions"), sessions, ({ items }) => (
        <SessionTable siteId={site.id} sessions={items} />
      ))}
      {part(t("Apps"), "/apps", manage("/apps", t("Manage apps"), t("All apps")), apps, ({ items }) => (
        <AppTable siteId={site.id} apps={items} uses={usage.status === "rejected" ? undefined : usage.value} />
      ))}
      {part(t("Agents"), "/agents", manage("/agents", t("Manage agents"), t("All agents")), agents, ({ items }) => (
        <AgentTable siteId={site.id} agents={items} />
      ))}
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
  return (
    <section class="card tile">
      <h2>{label}</h2>
      <p class="total">
        {isExact ? view.number(byStatus.reduce((sum, { count }) => sum + count, 0)) : text(COUNT_LIMIT)}
      </p>
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

/**
 * Answers the button that finishes a site whose home did not answer when it was created. The operator may press it until the home
 * answers. It does not use `once`, because a second press changes nothing.
 */
export async function postFinish(c: PageContext, site: Site): Promise<Response> {
  const path = sitePath(site);
  if (await isDraft(c, await readForm(c))) return c.redirect(await doneLocation(c, path, "draft"), 303);
  if (site.status === "creating") await finishSite(c.var.ctx, { site });
  return c.redirect(await doneLocation(c, path, "site"), 303);
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
