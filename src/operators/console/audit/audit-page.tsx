import type { PropsWithChildren } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import {
  AUDIT_ACTIONS,
  type AuditLogEntry,
  auditQuerySchema,
  listAuditLog,
  MOST_CHARACTERS,
  MOST_IN_FILE,
  readAuditFile,
} from "../../services/audit.ts";
import { sitesOf } from "../../services/site-names.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { sendFile, showPage } from "../layout.tsx";
import { type FilterFields, filteredPath, filterReader, List, queryOf } from "../parts/list.tsx";
import { Ago, EmptyState, Facts, NoticeBox, RowMenu } from "../parts/parts.tsx";
import { localTime, secondsOf, startOfDayAndWeek, useView, type View } from "../view.ts";
import { actionTexts, detailText, subjectOf, throughText } from "./audit-texts.ts";

const ENTRIES_PER_PAGE = 50;

const NO_ENTRIES = { items: [], nextCursor: null, homesDown: [], searchedTo: null };

/** The audit log of a site, or of all sites: one entry a row, who did what to what, and when. A menu in each row has the rest. */
export async function auditPage(c: PageContext, site?: Site): Promise<Response> {
  const { view, ctx, t } = c.var;
  const path = site ? `/console/sites/${site.id}/audit` : "/console/audit";
  const { fields, filter, isWrong } = readFilter(c);
  const query = queryOf(fields);
  const part = { siteId: site?.id, cursor: c.req.query("cursor"), limit: ENTRIES_PER_PAGE };
  const log = isWrong ? NO_ENTRIES : await listAuditLog(ctx, { ...part, ...filter });
  const sites = site ? new Map([[site.id, site]]) : await sitesOf(ctx, log.items);
  const isCutShort = log.searchedTo !== null && log.items.length < ENTRIES_PER_PAGE;
  const empty = isWrong
    ? t("Correct the filter above.")
    : isCutShort
      ? t("Nothing was found so far.")
      : Object.values(filter).some((value) => value !== undefined)
        ? t("Nothing fits this filter.")
        : t("Nothing has been changed yet.");
  const actions = actionTexts(view);
  const entries = log.items.map((entry) => ({
    entry,
    action: actions[entry.action],
    entrySite: entry.siteId === null ? undefined : sites.get(entry.siteId),
  }));
  const body = (
    <>
      {log.homesDown.length > 0 && (
        <NoticeBox kind="bad" title={t("Homes that do not answer: {0}", homesText(view, log.homesDown))}>
          <p>{t("Their entries are missing here. Nothing of them is lost: look again when they answer.")}</p>
        </NoticeBox>
      )}
      <List
        path={path}
        label={t("Audit log")}
        add={
          <a href={filteredPath(`${path}.csv`, query)} download>
            {t("Download as CSV")}
          </a>
        }
        filter={{ fields, choices: dayChoices(view), choicesLabel: t("Days") }}
        head={[
          t("Who"),
          t("What"),
          t("Subject"),
          ...(site ? [] : [{ label: t("Site"), phone: "hide" as const }]),
          { label: t("When"), phone: "top" },
        ]}
        rows={entries.map(({ entry, action, entrySite }) => {
          const { text, isId, href } = subjectOf(view, entry, entrySite);
          return [
            <AuthorName who={entry.who} href={(who) => filteredPath(path, { ...query, who })} />,
            <ActionCell entry={entry} action={action} site={entrySite} />,
            <Clipped href={href}>{isId ? <code>{text}</code> : <bdi>{text}</bdi>}</Clipped>,
            ...(site ? [] : [siteCell(entry.siteId, entrySite)]),
            <Ago at={entry.at} />,
          ];
        })}
        actions={entries.map(({ entry, action, entrySite }) => (
          <MoreFacts entry={entry} action={action} site={site ? undefined : entrySite} />
        ))}
        empty={<EmptyState title={empty} />}
        lookedTo={isCutShort && t("Searched back to {0}.", view.time(log.searchedTo ?? 0))}
        cursor={log.nextCursor}
        next={isCutShort ? t("Search further back") : undefined}
      />
    </>
  );
  const place = site ? { site: { ...site, tab: "audit" as const } } : { section: "audit" as const };
  return showPage(c, { title: t("Audit log"), ...place, body }, isWrong ? 400 : 200);
}

/** The filter above the audit log, as the reader filled it in, and what it filters by. It is wrong when a field has an error. */
function readFilter(c: PageContext) {
  const { view, t } = c.var;
  const { text, field, time } = filterReader(c);
  const wordOf = (name: string) => auditQuerySchema.shape.who.safeParse(text(name) || undefined).data;
  const filter = {
    who: wordOf("who"),
    action: AUDIT_ACTIONS.find((each) => each === text("action")),
    subject: wordOf("subject"),
    since: secondsOf(text("since"), view.timeZone),
    until: secondsOf(text("until"), view.timeZone, true),
  };
  const { since, until } = filter;
  const wordField = (label: string, name: "who" | "subject") => ({
    ...field(label, name, filter[name], t("Must have at most {0} characters", MOST_CHARACTERS)),
    maxlength: MOST_CHARACTERS,
  });
  const action = field(t("What"), "action", filter.action, t("There is no such action"));
  const fields: FilterFields = {
    who: wordField(t("Who"), "who"),
    action: { ...action, options: Object.entries(actionTexts(view)) },
    subject: wordField(t("Subject"), "subject"),
    since: time(t("From"), "since", since),
    until: time(t("To"), "until", until),
  };
  if (fields.since && since !== undefined && until !== undefined && since > until)
    fields.since.error = t("Must not be after “To”.");
  return { fields, filter, isWrong: Object.values(fields).some(({ error }) => error !== undefined) };
}

/** Today, yesterday and the last week in the reader's zone, each with the times that the filter takes for it. */
function dayChoices({ t, now, timeZone }: View): [label: string, times: { since: string; until: string }][] {
  const { day: today } = startOfDayAndWeek(now, timeZone);
  const { day: yesterday } = startOfDayAndWeek(today - 1, timeZone);
  // Days are counted from noon, because a day may have 23 or 25 hours.
  const { day: weekAgo } = startOfDayAndWeek(today + 43_200 - 6 * 86_400, timeZone);
  const minute = (at: number) => localTime(at, timeZone).slice(0, 16);
  return [
    [t("Today"), { since: minute(today), until: "" }],
    [t("Yesterday"), { since: minute(yesterday), until: minute(today - 60) }],
    [t("Last 7 days"), { since: minute(weekAgo), until: "" }],
  ];
}

/** The name of who made the entry. Only a token's name needs the word "Token": the other names show what they are. */
function AuthorName({ who, href }: { who: AuditLogEntry["who"]; href: (who: string) => string }) {
  const { t } = useView();
  if (who === null) return "–";
  return (
    <a class="clip author" href={href(who.id)} title={t("What else they did")}>
      <bdi>{who.kind === "worker" ? t("Worker") : who.name}</bdi>
      {who.kind === "token" && <small> {t("Token")}</small>}
    </a>
  );
}

interface EntryCell {
  entry: AuditLogEntry;
  action: string;
  site: Site | undefined;
}

function ActionCell({ entry, action, site }: EntryCell) {
  // The subject shows the site's name already.
  const { name, ...others } = entry.details;
  const isNameOfSubject = entry.action.startsWith("site.") && site !== undefined && name === site.name;
  const details = detailText(useView(), isNameOfSubject ? { ...entry, details: others } : entry);
  return (
    <span class="pair">
      <b>{action}</b>
      {details !== "" && (
        <small class="clip" title={details}>
          <bdi>{details}</bdi>
        </small>
      )}
    </span>
  );
}

/** The site of an entry. A site without any stored row has no page to link to. */
const siteCell = (siteId: number | null, site: Site | undefined) =>
  siteId === null ? (
    "–"
  ) : (
    <Clipped href={site && `/console/sites/${siteId}`}>
      <bdi>{nameOf(site, `(${siteId})`)}</bdi>
    </Clipped>
  );

const nameOf = (site: Site | undefined, otherwise: string) => (site && isVisible(site.name) ? site.name : otherwise);

const Clipped = (props: PropsWithChildren<{ href: string | undefined }>) =>
  props.href === undefined ? <span class="clip">{props.children}</span> : <a class="clip" {...props} />;

/**
 * The facts that few readers need, and the full text of what the table cuts off. The Worker's log has lines with the request id.
 *
 * @param props `site` is the entry's, on the page of all sites: a phone shows it here alone
 */
function MoreFacts({ entry, action, site }: EntryCell) {
  const view = useView();
  const { t } = view;
  const { actor, address, requestId, home, subject, at } = entry;
  const details = detailText(view, entry);
  return (
    <RowMenu label={t("More about {0}", action)}>
      <Facts
        rows={[
          [t("When"), view.exactTime(at)],
          [t("Through"), throughText(view, actor)],
          address !== null && [t("Network"), <code>{address}</code>],
          requestId !== null && [t("Request id"), <code>{requestId}</code>],
          view.hasHomes && [t("Home"), home],
          site !== undefined && [t("Site"), <bdi>{nameOf(site, `(${site.id})`)}</bdi>],
          subject !== "" && [t("Subject"), <code>{subject}</code>],
          details !== "" && [t("Details"), <bdi>{details}</bdi>],
        ]}
      />
    </RowMenu>
  );
}

/** The names of homes. It tells those without a database, which later looks alone do not bring back. */
const homesText = ({ t, isBound }: View, homes: string[]) =>
  homes.map((home) => (isBound(home) ? home : `${home} (${t("Not bound")})`)).join(", ");

/** Answers with the audit log of a site, or of all sites, as a file. It holds what the filter finds, in the reader's language and zone. */
export async function auditFile(c: PageContext, site?: Site): Promise<Response> {
  const { view, ctx, t } = c.var;
  const { filter, isWrong } = readFilter(c);
  // The page shows what is wrong with the filter.
  if (isWrong) return auditPage(c, site);
  const { items, sites, searchedTo, homesDown } = await readAuditFile(ctx, { siteId: site?.id, ...filter });
  const actions = actionTexts(view);
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: view.timeZone, dateStyle: "short", timeStyle: "medium" });
  const atText = (at: number) => format.format(at * 1000);
  const columns: [head: string, cell: (entry: AuditLogEntry) => string | number | null | undefined][] = [
    [t("When ({0})", view.timeZone), ({ at }) => atText(at)],
    [t("Who"), ({ who }) => who?.name],
    [t("Kind of who"), ({ who }) => who?.kind],
    [t("What"), ({ action }) => actions[action]],
    [t("Subject"), ({ subject }) => subject],
    [t("Site"), ({ siteId }) => nameOf(siteId === null ? undefined : sites.get(siteId), "")],
    [t("Site's id"), ({ siteId }) => siteId],
    [t("Details"), (entry) => detailText(view, entry)],
    [t("Through"), ({ actor }) => throughText(view, actor)],
    [t("Network"), ({ address }) => address],
    [t("Request id"), ({ requestId }) => requestId],
    [t("Home"), ({ home }) => home],
    // These columns are not translated: they are the fields of GET /admin/audit.
    ["id", ({ id }) => id],
    ["who.id", ({ who }) => who?.id],
    ["action", ({ action }) => action],
    ["subject", ({ subject }) => subject],
    ["site_id", ({ siteId }) => siteId],
    ["details", ({ details }) => JSON.stringify(details)],
  ];
  const most = view.number(MOST_IN_FILE);
  const notes = [
    searchedTo !== null &&
      (items.length === MOST_IN_FILE
        ? t("Not all: a file has {0} entries at most. Older ones: the same filter up to {1}.", most, atText(searchedTo))
        : t("Not all: the log was searched back to {0}. Older ones: the same filter up to then.", atText(searchedTo))),
    homesDown.length > 0 && t("Homes that do not answer: {0}", homesText(view, homesDown)),
  ];
  const name = `audit${site ? `-${site.id}` : ""}-${localTime(view.now, view.timeZone).slice(0, 10)}.csv`;
  const rows = items.map((entry) => columns.map(([, cell]) => String(cell(entry) ?? "")));
  const noteRows = notes.filter((note) => note !== false).map((note) => [note]);
  return sendFile(c, name, "text/csv; charset=utf-8", csvOf([columns.map(([head]) => head), ...rows, ...noteRows]));
}

/** A spreadsheet runs a cell as a formula when it begins with one of these. Some spreadsheets accept the full-width signs too. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/**
 * Rows as CSV (RFC 4180). A cell that a spreadsheet would run as a formula begins with an apostrophe. The byte order mark at the
 * start tells Excel that the file is UTF-8.
 */
export const csvOf = (rows: readonly string[][]): string =>
  `\ufeff${rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("")}`;

function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  // Some spreadsheets split at semicolons and tabs too.
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
