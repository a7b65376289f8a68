import type { Child } from "hono/jsx";
import { listAgents } from "../../services/agents.ts";
import { listApps } from "../../services/apps.ts";
import { customerOf } from "../../services/read-customer.ts";
import { findSessions, listSessions, SESSION_STATUSES } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import { docsPath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { type FilterFields, List } from "../parts/list.tsx";
import { Badge, CopyButton, EmptyState } from "../parts/parts.tsx";
import { hasUnseen, showUnseen, withoutUnseen } from "../parts/unseen.tsx";
import { localTime, secondsOf, useView, type View } from "../view.ts";
import { lookedToText, sessionColumns, statusText } from "./session-table.tsx";

/** How many agents a filter offers. On a site with more, an id is typed. */
const MOST_CHOICES = 50;

/** A site's sessions, with filters that combine. A chat_id leads to its session. */
export async function sessionsPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx, t } = c.var;
  const path = `/console/sites/${site.id}/sessions`;
  const { values, filter } = readFilter(c);
  const { chatId } = values;
  if (/^[1-9]\d{0,14}$/.test(chatId) && (await customerOf(ctx, { site, chatId: Number(chatId) })) !== undefined)
    return c.redirect(`${path}/${chatId}`, 303);
  const cursor = c.req.query("cursor");
  const [{ items, nextCursor, lookedTo }, { items: apps }, agents] = await Promise.all([
    findSessions(ctx, { site, ...filter, cursor, limit: 20 }),
    listApps(ctx, { site, limit: 100 }),
    listAgents(ctx, { site, limit: MOST_CHOICES }),
  ]);
  const choices = { apps, agents: agents.nextCursor === null ? agents.items : undefined };
  // Only an empty first page says what the filters left out. Before a later page, the reader has seen or searched other sessions.
  const isEmpty = items.length === 0 && lookedTo === null && cursor === undefined;
  const others = isEmpty ? await otherSessions(c, site, values.sbs) : undefined;
  const list = (
    <List
      path={path}
      label={t("Sessions")}
      filter={
        others?.site !== false && {
          fields: filterFields(view, values, choices),
          choicesLabel: t("Opened"),
          choices: [
            [t("Any time"), { from: "", to: "" }],
            [t("Today"), { from: dayBefore(view, 0), to: "" }],
            [t("7 days"), { from: dayBefore(view, 6), to: "" }],
          ],
        }
      }
      {...sessionColumns(view, { siteId: site.id, sessions: items })}
      empty={
        others === undefined ? (
          <EmptyState title={lookedTo === null ? t("No further session") : t("Nothing was found so far.")} />
        ) : others.site ? (
          <NoSession siteId={site.id} sbs={values.sbs} isKnown={others.customer} />
        ) : (
          <EmptyState title={t("No session yet")}>
            <FirstCall site={site} choices={choices} origin={new URL(c.req.url).origin} />
          </EmptyState>
        )
      }
      lookedTo={lookedToText(view, lookedTo)}
      cursor={nextCursor}
    />
  );
  return showPage(c, { title: t("Sessions"), site: { ...site, tab: "sessions" }, body: list });
}

/** Whether there are sessions besides those that were asked for: of the site, and of the customer. */
async function otherSessions({ var: { ctx } }: PageContext, site: Site, sbs: string) {
  const hasSessionsOf = async (customer?: string) =>
    (await listSessions(ctx, { site, sbs: customer, limit: 1 })).items.length > 0;
  const [ofSite, ofCustomer] = await Promise.all([hasSessionsOf(), sbs !== "" && hasSessionsOf(sbs)]);
  return { site: ofSite, customer: ofCustomer };
}

/**
 * The filters of the address, as its parameters and as the service takes them. Browsers send empty fields too. An empty field does not
 * filter, and neither does a value that no form of the page can send.
 */
function readFilter(c: PageContext) {
  const { sbs = "", app = "", agent = "", from = "", to = "", ...query } = c.req.query();
  const { timeZone } = c.var.view;
  const status = SESSION_STATUSES.find((each) => each === query.status);
  const timeOf = (day: string, time: string) =>
    /^\d{4}-\d\d-\d\d$/.test(day) ? secondsOf(`${day}T${time}`, timeZone) : undefined;
  const [since, until] = [timeOf(from, "00:00:00"), timeOf(to, "23:59:59")];
  const values = {
    chatId: (query.chat_id ?? "").trim(),
    sbs,
    app: app.trim(),
    // An id with invisible characters stays a filter. It finds nothing, and the page shows the characters.
    agent: /^[1-9]\d{0,15}$/.test(withoutUnseen(agent)) ? agent.trim() : "",
    status,
    from: since === undefined ? "" : from,
    to: until === undefined ? "" : to,
  };
  const agentId = values.agent === "" ? undefined : Number(values.agent) || 0;
  const filter = { sbs: sbs || undefined, appid: values.app || undefined, agentId, status, since, until };
  return { values, filter };
}

type FilterValues = ReturnType<typeof readFilter>["values"];

/** The filters in the order of the list's columns. A `chatId` that the site does not have is an error of its field. */
function filterFields(view: View, values: FilterValues, { apps, agents }: Choices): FilterFields {
  const { t } = view;
  const { sbs, app, agent, status, from, to, chatId } = values;
  const day = (value: string) => ({
    type: "date",
    value,
    shown: value && view.utcDay(Date.parse(`${value}T00:00Z`) / 1000),
  });
  return {
    sbs: { label: t("Customer id (sbs)"), value: sbs, maxlength: 128 },
    app: { label: t("App"), value: app, options: apps.map(({ appid, name }) => [appid, name]) },
    agent: agents
      ? { label: t("Agent"), value: agent, options: agents.map(({ id, name }) => [String(id), `${name} (${id})`]) }
      : { label: t("Agent id"), value: agent, maxlength: 16, inputmode: "numeric" },
    status: { label: t("Status"), value: status, options: SESSION_STATUSES.map((one) => [one, statusText(view, one)]) },
    from: { label: t("Opened from"), ...day(from) },
    to: { label: t("Opened until"), ...day(to) },
    chat_id: {
      label: t("Session (chat_id)"),
      value: chatId,
      error: chatId === "" ? undefined : t("This site has no session {0}", chatId),
      maxlength: 16,
      inputmode: "numeric",
    },
  };
}

/** The date of the reader's day this many days ago, as a date field has it. */
function dayBefore({ now, timeZone }: View, days: number): string {
  // Days are counted from noon. From midnight, a day of 23 or 25 hours would give another date.
  const noon = Date.parse(`${localTime(now, timeZone).slice(0, 10)}T12:00Z`);
  return new Date(noon - days * 86_400_000).toISOString().slice(0, 10);
}

/** Says why no session fits, and what to do next. @param props `isKnown`: whether the asked-for customer `sbs` has any session */
function NoSession({ siteId, sbs, isKnown }: { siteId: number; sbs: string; isKnown: boolean }) {
  const { t } = useView();
  const path = `/console/sites/${siteId}`;
  const all: [string, string] = [`${path}/sessions`, t("All sessions")];
  const latest: [string, string] = [`${path}/customers`, t("Latest customers")];
  if (sbs === "" || isKnown) {
    const text = isKnown
      ? t("This customer has sessions, but none that fits the other filters: take one of them off above.")
      : t("Take one of them off above.");
    return (
      <EmptyState title={t("No session fits all of these filters")} links={[all]}>
        <p>{text}</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={t("This site has no session of this customer")} links={[latest, all]}>
      <p>
        {t("The customer id must be the same to the letter:")} <bdi class="long">{showUnseen(sbs)}</bdi>
      </p>
      {!hasUnseen(sbs) && (
        <p>{t("Sessions that were erased, or that are older than this site keeps them, are gone.")}</p>
      )}
    </EmptyState>
  );
}

/** The apps and agents of a site. `agents` is undefined for a site with many. */
interface Choices {
  apps: { appid: string; name: string; revokedAt: number | null }[];
  agents: { id: number; name: string }[] | undefined;
}

/** The three steps to the first session of a site: agents, an app, and a call that opens it. What is next is a button. */
export function FirstCall({ site, choices, origin }: { site: Site; choices: Choices; origin: string }) {
  const view = useView();
  const { t } = view;
  const path = `/console/sites/${site.id}`;
  const app = choices.apps.find(({ revokedAt }) => revokedAt === null);
  // The example names some agent when the agents were not read.
  const agents = choices.agents ?? [{ id: 1 }];
  const agent = agents[0]?.id ?? 1;
  const customer = { sbs: "customer_001", ip: "127.0.0.1", sbs_mc: "Wang Wei" };
  const body = JSON.stringify({ ...customer, content: "Hello", kefu_id: [agent], fzr_uid: agent });
  const call = `--url ${origin} --appid ${app?.appid ?? "APPID"} --secret SECRET '${body}'`;
  const test = app && view.may(`${path}/apps/${app.appid}/test`, "GET") && `/apps/${app.appid}/test`;
  const steps: [label: string, isDone: boolean, to: string | undefined | false, text: Child][] = [
    [t("Agents"), agents.length > 0, "/agents", agents.length > 0 ? t("All agents") : t("Add an agent")],
    app ? [t("App"), true, `/apps/${app.appid}`, <bdi>{app.name}</bdi>] : [t("App"), false, "/apps", t("Issue an app")],
    [t("First call"), false, test, t("Send a test call")],
  ];
  const next = steps.findIndex(([, isDone]) => !isDone);
  return (
    <>
      <p>{t("A signed call of an app opens a session. What the first one needs:")}</p>
      <ol class="steps">
        {steps.map(([label, isDone, to, text], i) => (
          <li class="step">
            {isDone && <Badge kind="good" label={t("Done")} />} {label}{" "}
            {to && (
              <a href={path + to} class={i === next ? "button" : undefined}>
                {text}
              </a>
            )}
          </li>
        ))}
      </ol>
      {next === steps.length - 1 && (
        <>
          <p>{t("Or this command, in a checkout of Agent Session, with the secret of the app for SECRET:")}</p>
          <pre id="first-call">npm run call -- create_gd {call}</pre>
          <CopyButton id="first-call" label={t("Command")} />
        </>
      )}
      <p>
        <a href={docsPath(view, "integrating", { appid: app?.appid, agentId: agents[0]?.id })}>
          {t("How to call from your own code")}
        </a>
      </p>
    </>
  );
}
