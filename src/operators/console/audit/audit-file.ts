import { isVisible } from "../../../core/fields.ts";
import { type AuditLogEntry, MOST_IN_FILE, readAuditFile } from "../../services/audit.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { localTime } from "../view.ts";
import { auditPage, readFilter } from "./audit-page.tsx";
import { actionTexts, detailText, throughText } from "./audit-texts.ts";

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
    [t("Site"), ({ siteId }) => nameOf(siteId === null ? undefined : sites.get(siteId))],
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
  const notes = [
    searchedTo !== null &&
      (items.length === MOST_IN_FILE
        ? t(
            "Not all: a file has {0} entries at most. Older ones: the same filter up to {1}.",
            view.number(MOST_IN_FILE),
            atText(searchedTo),
          )
        : t("Not all: the log was searched back to {0}. Older ones: the same filter up to then.", atText(searchedTo))),
    homesDown.length > 0 && t("Homes that do not answer: {0}", homesDown.join(", ")),
  ];
  const name = `audit${site ? `-${site.id}` : ""}-${localTime(view.now, view.timeZone).slice(0, 10)}.csv`;
  const rows = items.map((entry) => columns.map(([, cell]) => String(cell(entry) ?? "")));
  const noteRows = notes.flatMap((note) => (note === false ? [] : [[note]]));
  return c.body(csvOf([columns.map(([head]) => head), ...rows, ...noteRows]), 200, {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="${name}"`,
  });
}

const nameOf = (site: Site | undefined) => (site !== undefined && isVisible(site.name) ? site.name : "");

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
