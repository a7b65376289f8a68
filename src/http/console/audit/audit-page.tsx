import { type AuditLogEntry, listAuditLog } from "../../../services/audit.ts";
import type { Site } from "../../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { NoticeBox, Time } from "../parts/parts.tsx";
import { More, Table } from "../parts/table.tsx";
import type { View } from "../view.ts";
import { actionText } from "./action-text.ts";
import { FilterForm, readFilter } from "./audit-filter.tsx";
import { detailText } from "./detail-text.ts";

const SHOWN = 50;

/** The audit log of a site, or of all sites. */
export async function auditPage(c: PageContext, site?: Site): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const path = site ? `/console/sites/${site.id}/audit` : "/console/audit";
  const asked = readFilter(c);
  const isWrong = Object.keys(asked.errors).length > 0;
  const wanted = { siteId: site?.id, ...asked.filter, cursor: c.req.query("cursor"), limit: SHOWN };
  const log = isWrong ? { items: [], nextCursor: null, homesDown: [] } : await listAuditLog(c.var.ctx, wanted);
  const isFiltered = Object.values(asked.filter).some((value) => value !== undefined);
  const homes = view.hasHomes ? [t("Home")] : [];
  const head = [t("What"), t("Subject"), t("Details"), t("Who"), t("Through"), t("When"), ...homes];
  const body = (
    <>
      {log.homesDown.length > 0 && (
        <NoticeBox kind="bad" title={t("Homes that do not answer: {0}", log.homesDown.join(", "))}>
          <p>{t("Their entries are missing here. Nothing of them is lost: look again later.")}</p>
        </NoticeBox>
      )}
      <FilterForm view={view} path={path} asked={asked} />
      <Table
        label={t("Audit log")}
        head={site ? head : [...head, t("Site")]}
        rows={log.items.map((entry) => [
          actionText(view, entry.action),
          <code>{entry.subject || "–"}</code>,
          <bdi class="long">{detailText(view, entry)}</bdi>,
          <WhoDid view={view} entry={entry} />,
          { console: t("Console"), "admin-api": "API", worker: t("Worker") }[entry.actor],
          <When view={view} entry={entry} />,
          ...(view.hasHomes ? [entry.home] : []),
          ...(site
            ? []
            : [entry.siteId === null ? "–" : <a href={`/console/sites/${entry.siteId}`}>{entry.siteId}</a>]),
        ])}
        empty={
          isWrong
            ? t("Correct the filter above.")
            : isFiltered
              ? t("Nothing fits this filter.")
              : t("Nothing has been changed yet.")
        }
      />
      <More view={view} path={path} query={asked.fields} cursor={log.nextCursor} />
    </>
  );
  const page = {
    title: t("Audit log"),
    ...(site ? { site: { ...site, tab: "audit" as const } } : { section: "audit" as const }),
    body,
  };
  return showPage(c, page, isWrong ? 400 : 200);
}

/**
 * Who did it, and from which network. A person's address, the ADMIN_TOKEN and the Worker say themselves what they are; the name of a
 * token does not.
 */
function WhoDid({ view, entry: { who, address } }: { view: View; entry: AuditLogEntry }) {
  return (
    <span class="pair">
      {who === null ? "–" : who.kind === "worker" ? view.t("Worker") : <bdi>{who.name}</bdi>}
      {who?.kind === "token" && <small>{view.t("Token")}</small>}
      {address !== null && (
        <small>
          <code>{address}</code>
        </small>
      )}
    </span>
  );
}

/** The log of the Worker has a line under the request id. */
function When({ view, entry }: { view: View; entry: AuditLogEntry }) {
  return (
    <span class="pair">
      <Time view={view} at={entry.at} />
      {entry.requestId !== null && (
        <small>
          <code>{entry.requestId}</code>
        </small>
      )}
    </span>
  );
}
