import { type AuditAction, listAuditLog } from "../../../services/audit.ts";
import type { Site } from "../../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { NoticeBox, Time } from "../parts/parts.tsx";
import { More, Table } from "../parts/table.tsx";
import type { View } from "../view.ts";

/** The audit log of a site, or of all sites. */
export async function auditPage(c: PageContext, site?: Site): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const log = await listAuditLog(c.var.ctx, { siteId: site?.id, cursor: c.req.query("cursor"), limit: 50 });
  const homes = view.hasHomes ? [t("Home")] : [];
  const head = [t("What"), t("Subject"), t("Details"), t("Through"), t("When"), ...homes];
  const body = (
    <>
      {log.homesDown.length > 0 && (
        <NoticeBox kind="bad" title={t("Homes that do not answer: {0}", log.homesDown.join(", "))}>
          <p>{t("Their entries are missing here. Nothing of them is lost: look again later.")}</p>
        </NoticeBox>
      )}
      <Table
        label={t("Audit log")}
        head={site ? head : [...head, t("Site")]}
        rows={log.items.map((entry) => [
          actionText(view, entry.action),
          <code>{entry.subject || "–"}</code>,
          <bdi class="long">{detailText(view, entry.details)}</bdi>,
          { console: t("Console"), "admin-api": "API", worker: t("Worker") }[entry.actor],
          <Time view={view} at={entry.at} />,
          ...(view.hasHomes ? [entry.home] : []),
          ...(site
            ? []
            : [entry.siteId === null ? "–" : <a href={`/console/sites/${entry.siteId}`}>{entry.siteId}</a>]),
        ])}
        empty={t("Nothing has been changed yet.")}
      />
      <More view={view} path={site ? `/console/sites/${site.id}/audit` : "/console/audit"} cursor={log.nextCursor} />
    </>
  );
  const title = t("Audit log");
  return showPage(c, { title, ...(site ? { site: { ...site, tab: "audit" } } : { section: "audit" }), body });
}

function actionText(view: View, action: AuditAction): string {
  const texts: Record<AuditAction, string> = {
    "site.begun": view.t("Site begun"),
    "site.created": view.t("Site created"),
    "site.renamed": view.t("Site renamed"),
    "site.opened": view.t("Site opened"),
    "site.closed": view.t("Site closed"),
    "site.first_chat_id_set": view.t("First chat_id set"),
    "site.events_on": view.t("Events turned on"),
    "site.events_off": view.t("Events turned off"),
    "app.routed": view.t("Appid kept for the site"),
    "app.released": view.t("Appid released"),
    "app.issued": view.t("App issued"),
    "app.imported": view.t("App imported"),
    "app.rotated": view.t("Secret rotated"),
    "app.overlap_ended": view.t("Old secret ended"),
    "app.revoked": view.t("App revoked"),
    "agent.added": view.t("Agent added"),
    "agent.renamed": view.t("Agent renamed"),
    "agent.enabled": view.t("Agent enabled"),
    "agent.disabled": view.t("Agent disabled"),
    "webhook.added": view.t("Webhook added"),
    "webhook.changed": view.t("Webhook changed"),
    "webhook.enabled": view.t("Webhook enabled"),
    "webhook.disabled": view.t("Webhook disabled"),
    "webhook.rotated": view.t("Webhook secret rotated"),
    "webhook.overlap_ended": view.t("Old webhook secret ended"),
    "webhook.redelivered": view.t("Events sent again"),
    "webhook.deleted": view.t("Webhook deleted"),
    "secrets.resealed": view.t("Secrets re-sealed"),
    "home.restored": view.t("Home restored"),
  };
  return texts[action];
}

/** The times of the events that were sent again, in Unix seconds. */
const TIMES = new Set(["since", "until"]);

function detailText(view: View, details: Record<string, unknown>): string {
  const {
    from,
    to,
    previous_expires_at: until,
    imported,
    lifted_by: lift,
    first_chat_id: first,
    home,
    call: _,
    ...others
  } = details;
  const parts = Object.entries(others)
    .filter(([, value]) => value !== null)
    .map(([key, value]) =>
      key === "name" ? String(value) : `${key} ${TIMES.has(key) ? view.time(Number(value)) : value}`,
    );
  if (typeof home === "string" && view.hasHomes) parts.push(`home ${home}`);
  if (from !== undefined) parts.push(`${from} → ${to}`);
  if (Array.isArray(imported) && imported.length > 0) parts.push(imported.join(", "));
  // 1 is the default, which no operator chose.
  if (typeof first === "number" && first > 1) parts.push(`first_chat_id ${first}`);
  if (typeof lift === "number") {
    parts.push(view.t("chat_ids skipped: {0}", new Intl.NumberFormat(view.language).format(lift)));
  }
  if (typeof until === "number") parts.push(view.t("previous until {0}", view.time(until)));
  return parts.join(" · ") || "–";
}
