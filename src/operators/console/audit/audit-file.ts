import { isVisible } from "../../../core/fields.ts";
import { type AuditLogEntry, MOST_IN_FILE, readAuditFile } from "../../services/audit.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { localTime, type View } from "../view.ts";
import { actionText } from "./action-text.ts";
import { readFilter } from "./audit-filter.tsx";
import { auditPage } from "./audit-page.tsx";
import { csvOf } from "./csv.ts";
import { detailText } from "./detail-text.ts";
import { throughText } from "./through-text.ts";

/** Answers with the audit log of a site, or of all sites, as a file. It holds what the filter finds, in the reader's language and zone. */
export async function auditFile(c: PageContext, site?: Site): Promise<Response> {
  const { view, ctx } = c.var;
  const { t } = view;
  const filterForm = readFilter(c);
  // The page shows what is wrong with the filter.
  if (Object.keys(filterForm.errors).length > 0) return auditPage(c, site);
  const { items, sites, searchedTo, homesDown } = await readAuditFile(ctx, { siteId: site?.id, ...filterForm.filter });
  const head = [
    t("When ({0})", view.timeZone),
    t("Who"),
    t("Kind of who"),
    t("What"),
    t("Subject"),
    t("Site"),
    t("Site's id"),
    t("Details"),
    t("Through"),
    t("Network"),
    t("Request id"),
    t("Home"),
    // These columns are not translated: they are the fields of GET /admin/audit.
    "id",
    "who.id",
    "action",
    "subject",
    "site_id",
    "details",
  ];
  const { atText, rowOf } = rowsOf(view, sites);
  const mostText = new Intl.NumberFormat(view.language).format(MOST_IN_FILE);
  const notes = [
    ...(searchedTo === null
      ? []
      : [
          items.length === MOST_IN_FILE
            ? t(
                "Not all: a file has {0} entries at most. Older ones: the same filter up to {1}.",
                mostText,
                atText(searchedTo),
              )
            : t(
                "Not all: the log was searched back to {0}. Older ones: the same filter up to then.",
                atText(searchedTo),
              ),
        ]),
    ...(homesDown.length > 0 ? [t("Homes that do not answer: {0}", homesDown.join(", "))] : []),
  ];
  const name = `audit${site ? `-${site.id}` : ""}-${localTime(view.now, view.timeZone).slice(0, 10)}.csv`;
  return c.body(csvOf([head, ...items.map(rowOf), ...notes.map((note) => [note])]), 200, {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="${name}"`,
  });
}

/** Makes the texts of a file's rows. A file has thousands of rows and few actions, so each action is translated once. */
function rowsOf(view: View, sites: ReadonlyMap<number, Site>) {
  const { timeZone } = view;
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  const atText = (at: number) => format.format(at * 1000);
  const actions = new Map<string, string>();
  const textOf = (action: AuditLogEntry["action"]) => {
    const text = actions.get(action) ?? actionText(view, action);
    actions.set(action, text);
    return text;
  };
  const rowOf = (entry: AuditLogEntry): string[] => {
    const { id, at, who, action, subject, siteId, details, actor, address, requestId, home } = entry;
    const name = siteId === null ? "" : (sites.get(siteId)?.name ?? "");
    return [
      atText(at),
      who?.name ?? "",
      who?.kind ?? "",
      textOf(action),
      subject,
      isVisible(name) ? name : "",
      siteId === null ? "" : String(siteId),
      detailText(view, entry),
      throughText(view, actor),
      address ?? "",
      requestId ?? "",
      home,
      String(id),
      who?.id ?? "",
      action,
      subject,
      siteId === null ? "" : String(siteId),
      JSON.stringify(details),
    ];
  };
  return { atText, rowOf };
}
