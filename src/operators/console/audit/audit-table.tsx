import type { Child } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import type { AuditLogEntry } from "../../services/audit.ts";
import type { Site } from "../../services/sites.ts";
import { filteredPath } from "../parts/filter.tsx";
import { Ago } from "../parts/parts.tsx";
import { RowMenu } from "../parts/row-menu.tsx";
import { type Column, Table } from "../parts/table.tsx";
import type { View } from "../view.ts";
import { actionText } from "./action-text.ts";
import { detailText } from "./detail-text.ts";
import { subjectOf } from "./subject-link.ts";
import { throughText } from "./through-text.ts";

interface AuditRows {
  view: View;
  /** The path of the list. A name links to the list of all entries by its owner, and keeps the filter's fields. */
  path: string;
  fields: Record<string, string>;
  sites: ReadonlyMap<number, Site>;
}

/** The entries, one a row: who did what to what, and when. A button in each row shows the rest. */
export function AuditTable(props: AuditRows & { entries: AuditLogEntry[]; isOneSite: boolean; empty: Child }) {
  const { view, sites, entries, isOneSite, empty } = props;
  const { t } = view;
  const head: Column[] = [
    { label: t("Who") },
    { label: t("What") },
    { label: t("Subject") },
    ...(isOneSite ? [] : [{ label: t("Site"), phone: "hide" as const }]),
    { label: t("When"), phone: "top" },
    { label: t("More") },
  ];
  return (
    <div class="audit">
      <Table
        label={t("Audit log")}
        head={head}
        rows={entries.map((entry) => [
          <AuthorName {...props} entry={entry} />,
          <ActionCell {...props} entry={entry} />,
          <SubjectOf {...props} entry={entry} />,
          ...(isOneSite
            ? []
            : [entry.siteId === null ? "–" : <SiteOf siteId={entry.siteId} site={sites.get(entry.siteId)} />]),
          <Ago at={entry.at} />,
          <MoreFacts view={view} entry={entry} />,
        ])}
        empty={empty}
      />
    </div>
  );
}

interface AuditCell {
  view: View;
  entry: AuditLogEntry;
}

/** The name of who made the entry. Only a token's name needs the word "Token": the other names show what they are. */
function AuthorName({ view, path, fields, entry: { who } }: AuditRows & AuditCell) {
  if (who === null) return "–";
  return (
    <a class="clip" href={filteredPath(path, { ...fields, who: who.id })} title={view.t("What else they did")}>
      <bdi>{who.kind === "worker" ? view.t("Worker") : who.name}</bdi>
      {who.kind === "token" && <small> {view.t("Token")}</small>}
    </a>
  );
}

function ActionCell({ view, sites, entry }: AuditRows & AuditCell) {
  // The subject shows the site's name already.
  const { name, ...others } = entry.details;
  const isNameOfSubject = entry.action.startsWith("site.") && name === (entry.siteId && sites.get(entry.siteId)?.name);
  const details = detailText(view, isNameOfSubject ? { ...entry, details: others } : entry);
  return (
    <span class="pair">
      <span>{actionText(view, entry.action)}</span>
      {details !== "" && (
        <small class="clip" title={details}>
          <bdi>{details}</bdi>
        </small>
      )}
    </span>
  );
}

function SubjectOf({ view, sites, entry }: AuditRows & AuditCell) {
  const { text, isId, href } = subjectOf(view, entry, entry.siteId === null ? undefined : sites.get(entry.siteId));
  const shown = isId ? <code>{text}</code> : <bdi>{text}</bdi>;
  return href === undefined ? (
    <span class="clip">{shown}</span>
  ) : (
    <a class="clip" href={href}>
      {shown}
    </a>
  );
}

/** The site of an entry. A site without any stored row has no page to link to. */
function SiteOf({ siteId, site }: { siteId: number; site: Site | undefined }) {
  const name = site !== undefined && isVisible(site.name) ? site.name : `(${siteId})`;
  return site === undefined ? (
    <span>{name}</span>
  ) : (
    <a class="clip" href={`/console/sites/${siteId}`}>
      <bdi>{name}</bdi>
    </a>
  );
}

/** The facts that few readers need, and the full text of what the table cuts off. The Worker's log has lines with the request id. */
function MoreFacts({ view, entry }: AuditCell) {
  const { t } = view;
  const { actor, address, requestId, home, subject, at, action } = entry;
  const details = detailText(view, entry);
  const facts: [label: string, value: Child][] = [
    [t("When"), view.exactTime(at)],
    [t("Through"), throughText(view, actor)],
    ...(address === null ? [] : [[t("Network"), <code>{address}</code>] as [string, Child]]),
    ...(requestId === null ? [] : [[t("Request id"), <code>{requestId}</code>] as [string, Child]]),
    ...(view.hasHomes ? [[t("Home"), home] as [string, Child]] : []),
    ...(subject === "" ? [] : [[t("Subject"), <code>{subject}</code>] as [string, Child]]),
    ...(details === "" ? [] : [[t("Details"), <bdi>{details}</bdi>] as [string, Child]]),
  ];
  return (
    <RowMenu label={t("More about {0}", actionText(view, action))}>
      <dl>
        {facts.map(([label, value]) => (
          <>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </RowMenu>
  );
}
