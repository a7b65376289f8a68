import { listAuditLog, sitesOfEntries } from "../../services/audit.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { filteredPath } from "../parts/filter.tsx";
import { EmptyState, NoticeBox } from "../parts/parts.tsx";
import { MoreLink } from "../parts/table.tsx";
import { AuditFilter, Days, readFilter } from "./audit-filter.tsx";
import { AuditTable } from "./audit-table.tsx";

const ENTRIES_PER_PAGE = 50;

/** The audit log of a site, or of all sites. */
export async function auditPage(c: PageContext, site?: Site): Promise<Response> {
  const { view, ctx } = c.var;
  const { t } = view;
  const path = site ? `/console/sites/${site.id}/audit` : "/console/audit";
  const filterForm = readFilter(c);
  const isWrong = Object.keys(filterForm.errors).length > 0;
  const wanted = { siteId: site?.id, ...filterForm.filter, cursor: c.req.query("cursor"), limit: ENTRIES_PER_PAGE };
  const log = isWrong
    ? { items: [], nextCursor: null, homesDown: [], searchedTo: null }
    : await listAuditLog(ctx, wanted);
  const sites = site ? new Map([[site.id, site]]) : await sitesOfEntries(ctx, log.items);
  const isFiltered = Object.values(filterForm.filter).some((value) => value !== undefined);
  const isCutShort = log.searchedTo !== null && log.items.length < ENTRIES_PER_PAGE;
  const searched = isCutShort ? t("Searched back to {0}.", view.time(log.searchedTo ?? 0)) : undefined;
  const empty = isWrong
    ? t("Correct the filter above.")
    : isCutShort
      ? t("Nothing was found so far.")
      : isFiltered
        ? t("Nothing fits this filter.")
        : t("Nothing has been changed yet.");
  const body = (
    <>
      {log.homesDown.length > 0 && (
        <NoticeBox kind="bad" title={t("Homes that do not answer: {0}", log.homesDown.join(", "))}>
          <p>{t("Their entries are missing here. Nothing of them is lost: look again later.")}</p>
        </NoticeBox>
      )}
      <div class="days">
        <Days view={view} path={path} filterForm={filterForm} />
        <a href={filteredPath(`${path}.csv`, filterForm.fields)} download>
          <span class="wide">{t("Download as")} </span>CSV
        </a>
      </div>
      <AuditFilter view={view} path={path} filterForm={filterForm} />
      <AuditTable
        view={view}
        path={path}
        sites={sites}
        entries={log.items}
        fields={filterForm.fields}
        isOneSite={site !== undefined}
        empty={<EmptyState title={empty} />}
      />
      {searched && <p>{searched}</p>}
      <MoreLink
        path={path}
        query={filterForm.fields}
        cursor={log.nextCursor}
        next={searched && t("Search further back")}
      />
    </>
  );
  const page = {
    title: t("Audit log"),
    ...(site ? { site: { ...site, tab: "audit" as const } } : { section: "audit" as const }),
    body,
  };
  return showPage(c, page, isWrong ? 400 : 200);
}
