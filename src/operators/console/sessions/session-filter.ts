import { listAgents } from "../../services/agents.ts";
import { listApps } from "../../services/apps.ts";
import { SESSION_STATUSES, type SessionStatus } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { type FilterInForce, filteredPath } from "../parts/filter.tsx";
import { withoutUnseen } from "../parts/unseen.tsx";
import { localTime, secondsOf, type View } from "../view.ts";
import { statusText } from "./session-table.tsx";

/** The filters of the list of sessions, as its address has them. */
export interface SessionFilterFields {
  status: SessionStatus | undefined;
  sbs: string;
  appid: string;
  agent: string;
  /** Days in the reader's zone, such as `2027-01-15`. */
  from: string;
  to: string;
}

/** The apps and agents of a site, for the choices of a filter. */
export interface Choices {
  apps: { appid: string; name: string; revokedAt: number | null }[];
  /** Undefined for a site with too many agents to choose from. */
  agents: { id: number; name: string }[] | undefined;
}

const MOST_CHOICES = 50;
const AGENT = /^[1-9]\d{0,15}$/;
const DAY = /^\d{4}-\d\d-\d\d$/;

/** Browsers send empty fields too. An empty field does not filter, and neither does a value that no form of the page can send. */
export function readSessionFilter(c: PageContext): SessionFilterFields {
  const { status, sbs = "", app = "", agent = "", from = "", to = "" } = c.req.query();
  const { timeZone } = c.var.view;
  const day = (text: string) => (DAY.test(text) && secondsOf(`${text}T00:00`, timeZone) !== undefined ? text : "");
  return {
    status: SESSION_STATUSES.find((each) => each === status),
    sbs,
    appid: app.trim(),
    // An id with invisible characters stays a filter. It finds nothing, and the page shows the characters.
    agent: AGENT.test(withoutUnseen(agent)) ? agent.trim() : "",
    from: day(from),
    to: day(to),
  };
}

/** The filters as a service takes them. */
export const inputOf = (filter: SessionFilterFields, { timeZone }: View) => ({
  status: filter.status,
  sbs: filter.sbs || undefined,
  appid: filter.appid || undefined,
  agentId: filter.agent === "" ? undefined : Number(filter.agent) || 0,
  since: filter.from === "" ? undefined : secondsOf(`${filter.from}T00:00`, timeZone),
  until: filter.to === "" ? undefined : secondsOf(`${filter.to}T23:59`, timeZone, true),
});

export async function readChoices({ var: { ctx } }: PageContext, site: Site): Promise<Choices> {
  const [apps, agents] = await Promise.all([
    listApps(ctx, { site, limit: 100 }),
    listAgents(ctx, { site, limit: MOST_CHOICES }),
  ]);
  return { apps: apps.items, agents: agents.nextCursor === null ? agents.items : undefined };
}

/** The filters as parameters of an address. */
export const queryOf = ({ appid: app, ...others }: SessionFilterFields) => ({ ...others, app });

/** @returns the path of the list with these filters */
export const pathOf = (path: string, filter: SessionFilterFields): string => filteredPath(path, queryOf(filter));

/** The date of the reader's day this many days ago, as a date field has it. */
export const dayBefore = ({ now, timeZone }: View, days: number): string => {
  // Days are counted from noon. From midnight, a day of 23 or 25 hours would give another date.
  const noon = Date.parse(`${localTime(now, timeZone).slice(0, 10)}T12:00Z`);
  return new Date(noon - days * 86_400_000).toISOString().slice(0, 10);
};

/** The filters in force, in words, each with the address of the list without it. */
export function chipsOf(
  view: View,
  path: string,
  filter: SessionFilterFields,
  { apps, agents }: Choices,
): FilterInForce[] {
  const { t } = view;
  const day = (text: string) =>
    new Intl.DateTimeFormat(view.language === "zh" ? "zh-CN" : "en-GB", {
      dateStyle: "medium",
      timeZone: "UTC",
    }).format(Date.parse(`${text}T00:00Z`));
  const pathWithout = (off: Partial<SessionFilterFields>) => pathOf(path, { ...filter, ...off });
  const { status, sbs, appid, agent, from, to } = filter;
  const agentName = agents?.find(({ id }) => String(id) === agent)?.name;
  const opened =
    from !== "" && from === to
      ? day(from)
      : [from && t("from {0}", day(from)), to && t("until {0}", day(to))].filter(Boolean).join(" ");
  return [
    status && { label: t("Status"), value: statusText(view, status), without: pathWithout({ status: undefined }) },
    sbs && { label: t("Customer"), value: sbs, without: pathWithout({ sbs: "" }) },
    appid && {
      label: t("App"),
      value: apps.find((each) => each.appid === appid)?.name ?? appid,
      without: pathWithout({ appid: "" }),
    },
    agent && {
      label: t("Agent"),
      value: agentName === undefined ? agent : `${agentName} (${agent})`,
      without: pathWithout({ agent: "" }),
    },
    opened && { label: t("Opened"), value: opened, without: pathWithout({ from: "", to: "" }) },
  ].filter((each) => typeof each === "object");
}
