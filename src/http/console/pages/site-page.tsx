import { listAgentsOfSite } from "../../../services/list-agents.ts";
import { listAppsOfSite } from "../../../services/list-apps.ts";
import { listSessionsOfSite } from "../../../services/list-sessions.ts";
import { COUNT_LIMIT, countSessions } from "../../../store/home/count-sessions.ts";
import type { Routes } from "../../new-hono.ts";
import { siteOf } from "../../operator.ts";
import { show } from "../layout.tsx";
import { doneNotice } from "../messages.ts";
import { Notice } from "../parts.tsx";
import { startsOf, type View } from "../view.ts";
import { AgentTable } from "./agents-pages.tsx";
import { AppTable } from "./apps-pages.tsx";
import { SessionTable } from "./sessions-pages.tsx";

const SHOWN = 5;

export function sitePage(routes: Routes): void {
  routes.get("/sites/:site_id", async (c) => {
    const v = c.var.view;
    const { t } = v;
    const { config, site, home } = await siteOf(c);
    const { day, week } = startsOf(v.now, v.timeZone);
    const [[today, thisWeek], sessions, apps, agents] = await Promise.all([
      countSessions(home, site.id, [day, week]),
      listSessionsOfSite(home, site.id, {}, Number.MAX_SAFE_INTEGER, SHOWN),
      listAppsOfSite(config.directory, site.id, "", SHOWN),
      listAgentsOfSite(home, site.id, 0, SHOWN),
    ]);
    const path = `/console/sites/${site.id}`;
    const done = await doneNotice(c);
    const body = (
      <>
        {done && <Notice {...done} />}
        <div class="tiles">
          <Counts v={v} label={t("Sessions today")} counts={today} />
          <Counts v={v} label={t("Sessions this week")} counts={thisWeek} />
        </div>
        <Part title={t("Latest sessions")} href={`${path}/sessions`} all={t("All sessions")}>
          <SessionTable v={v} siteId={site.id} sessions={sessions.items} />
        </Part>
        <Part title={t("Apps")} href={`${path}/apps`} all={t("Manage apps")}>
          <AppTable v={v} siteId={site.id} apps={apps.items} />
        </Part>
        <Part title={t("Agents")} href={`${path}/agents`} all={t("Manage agents")}>
          <AgentTable v={v} siteId={site.id} agents={agents.items} />
        </Part>
      </>
    );
    return show(c, { title: site.name, site: { ...site, tab: "overview" }, body });
  });
}

function Counts({
  v,
  label,
  counts,
}: {
  v: View;
  label: string;
  counts?: { waiting: number; replied: number } | undefined;
}) {
  const { waiting = 0, replied = 0 } = counts ?? {};
  const number = new Intl.NumberFormat(v.language);
  const text = (count: number, limit: number) => number.format(Math.min(count, limit)) + (count >= limit ? "+" : "");
  return (
    <section class="card tile">
      <h2>{label}</h2>
      <p class="total">
        {text(waiting + replied, waiting < COUNT_LIMIT && replied < COUNT_LIMIT ? Infinity : COUNT_LIMIT)}
      </p>
      <dl>
        <div class="wait">
          <dt>{v.t("Waiting")}</dt>
          <dd>{text(waiting, COUNT_LIMIT)}</dd>
        </div>
        <div class="good">
          <dt>{v.t("Replied")}</dt>
          <dd>{text(replied, COUNT_LIMIT)}</dd>
        </div>
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
