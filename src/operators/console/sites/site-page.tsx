import type { Child } from "hono/jsx";
import { refusalOf } from "../../../core/http/faults.ts";
import { listAgents } from "../../services/agents.ts";
import { listApps } from "../../services/apps.ts";
import { LIMIT_MS } from "../../services/attention.ts";
import { readDeletion } from "../../services/delete-site.ts";
import { readHealth } from "../../services/health.ts";
import { siteUnknown } from "../../services/refusals.ts";
import {
  COUNT_LIMIT,
  countSessions,
  listSessions,
  SESSION_STATUSES,
  type SessionStatus,
} from "../../services/sessions.ts";
import { readSiteUsage } from "../../services/site-usage.ts";
import { finishSite, hasEnded, readRetention, type Site } from "../../services/sites.ts";
import { AgentTable } from "../agents/agents-page.tsx";
import { AppTable } from "../apps/apps-page.tsx";
import type { PageContext } from "../env.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { isDraft } from "../forms/submit-once.ts";
import { showPage } from "../layout.tsx";
import { Form } from "../parts/form.tsx";
import { Facts, Time } from "../parts/parts.tsx";
import { UsageCard } from "../parts/usage-card.tsx";
import { FirstCall } from "../sessions/first-call.tsx";
import { SessionTable, statusKind, statusText } from "../sessions/session-table.tsx";
import { startOfDayAndWeek, useView } from "../view.ts";
import { AttentionList, readNeeds } from "./attention-list.tsx";
import { endedPage } from "./site-deletion.tsx";
import { sitePath } from "./site-paths.ts";
import { RetentionProgress } from "./site-settings.tsx";

const MOST_SHOWN = 5;

export async function sitePage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  if (site.status === "creating") return unfinishedPage(c, site);
  // The deletion of a closed site may have begun without the directory knowing.
  const progress = site.status === "open" ? undefined : await readDeletion(ctx, { site });
  if (progress !== undefined) return endedPage(c, site, progress);
  if (hasEnded(site)) throw siteUnknown();
  const firstItems = { site, limit: MOST_SHOWN };
  const { day, week } = startOfDayAndWeek(view.now, view.timeZone);
  const health = await readHealth(ctx, LIMIT_MS, site.home);
  const [parts, { needs, troubleOf }] = await Promise.all([
    Promise.allSettled([
      countSessions(ctx, { site, since: [day, week] }),
      listSessions(ctx, firstItems),
      listApps(ctx, firstItems),
      listAgents(ctx, firstItems),
      site.retentionDays === null ? null : readRetention(ctx, { site }),
      readSiteUsage(ctx, site),
    ]),
    readNeeds(c, [site], health),
  ]);
  const faults = parts.flatMap((part) => (part.status === "rejected" ? [part.reason] : []));
  const reads = parts.filter((part) => part.status === "rejected" || part.value !== null);
  if (faults.length === reads.length) throw faults[0];
  // The errors go only into the log. The page shows the parts that could be read.
  for (const fault of faults) refusalOf(fault, c.var.trace);
  const [counts, sessions, apps, agents, retention, usage] = parts;
  const isRead = sessions.status === "fulfilled" && apps.status === "fulfilled" && agents.status === "fulfilled";
  // Only a retention takes all sessions of a site away. Calls that were counted came, even when an erasure left no session of them.
  const isYoung = site.retentionDays === null || view.now - site.createdAt < site.retentionDays * 86_400;
  const hasCounted = usage.status === "fulfilled" && usage.value.days.some(({ accepted }) => accepted > 0);
  const firstSteps = isRead && isYoung && !hasCounted && sessions.value.items.length === 0 && (
    <section class="card">
      <h2>{t("Three steps to the first session")}</h2>
      <FirstCall
        site={site}
        choices={{ apps: apps.value.items, agents: agents.value.items.filter(({ status }) => status === "normal") }}
        origin={new URL(c.req.url).origin}
      />
    </section>
  );
  const part = (title: string, page: string, all: string, content: Child) => (
    <section class="part">
      <div class="head">
        <h2>{title}</h2>
        <a href={sitePath(site, page)}>{all}</a>
      </div>
      {content}
    </section>
  );
  const manage = (page: string, label: string, look: string) => (view.may(sitePath(site, page)) ? label : look);
  const body = (
    <>
      <AttentionList needs={needs} />
      {firstSteps}
      {retention.status === "fulfilled" && retention.value !== null && (
        <RetentionProgress retention={retention.value} />
      )}
      {shown(counts, ([today, thisWeek]) => (
        <div class="tiles">
          <Counts label={t("Sessions today")} counts={today} />
          <Counts label={t("Sessions this week")} counts={thisWeek} />
        </div>
      ))}
      {part(
        t("Calls"),
        "/refusals",
        t("Refused calls"),
        shown(usage, (value) => <UsageCard usage={value} site={site} />),
      )}
      {part(
        t("Latest sessions"),
        "/sessions",
        t("All sessions"),
        shown(sessions, ({ items }) => <SessionTable siteId={site.id} sessions={items} />),
      )}
      {part(
        t("Apps"),
        "/apps",
        manage("/apps", t("Manage apps"), t("All apps")),
        shown(apps, ({ items }) => (
          <AppTable siteId={site.id} apps={items} uses={usage.status === "rejected" ? undefined : usage.value} />
        )),
      )}
      {part(
        t("Agents"),
        "/agents",
        manage("/agents", t("Manage agents"), t("All agents")),
        shown(agents, ({ items }) => <AgentTable siteId={site.id} agents={items} />),
      )}
    </>
  );
  return showPage(c, { title: site.name, site: { ...site, trouble: troubleOf(site), tab: "overview" }, body });
}

/** A part of the page, or a sentence in place of one that could not be read. */
const shown = <Value,>(part: PromiseSettledResult<Value>, show: (value: Value) => Child): Child =>
  part.status === "fulfilled" ? show(part.value) : <UnreadPart />;

const UnreadPart = () => <p class="empty">{useView().t("This part could not be read. Try again in a moment.")}</p>;

function Counts({ label, counts }: { label: string; counts: Record<SessionStatus, number> | undefined }) {
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
      <p>
        {t(
          "This site was begun, but its home does not have it yet: the home did not answer. Finish it as soon as the home answers; until then it has no apps and no agents.",
        )}
      </p>
      <Facts
        rows={[
          [t("Home"), site.home],
          [t("First chat_id"), site.firstChatId],
          [t("Begun"), <Time at={site.createdAt} />],
        ]}
      />
      <Form action={sitePath(site, "/finish")}>
        <button type="submit">{t("Finish this site")}</button>
      </Form>
    </section>
  );
  return showPage(c, { title: site.name, site: { ...site, tab: "overview" }, body });
}
