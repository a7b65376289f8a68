import type { Agent } from "../../services/agents.ts";
import type { RotatedSecret } from "../../services/app-secrets.ts";
import type { AppSummary, IssuedApp } from "../../services/apps.ts";
import type { AuditLogEntry } from "../../services/audit.ts";
import type { DivergentApp } from "../../services/divergent-apps.ts";
import type { RestoredHome } from "../../services/homes.ts";
import type { Page } from "../../services/page.ts";
import type { Resealed } from "../../services/reseal-secrets.ts";
import { SESSION_FIELDS, type SessionRow, type StoredSession } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";

/**
 * The answers of the admin API. Each field is named, a session's in SESSION_FIELDS, so that no stored field is sent by accident. Described
 * in openapi/admin-schemas.ts.
 */

export function page<Item, Shown>({ items, nextCursor }: Page<Item>, show: (item: Item) => Shown) {
  return { items: items.map(show), next_cursor: nextCursor };
}

export const site = ({ id, name, home, status }: Omit<Site, "createdAt">) => ({ id, name, home, status });

/** Only its home knows whether a site has events, so lists of sites do not say it. */
export const changedSite = ({ events, ...each }: Site & { events: boolean }) => ({ ...site(each), events });

export const siteEntry = ({ createdAt, ...each }: Site) => ({ ...site(each), created_at: createdAt });

export const restored = ({ settlingId, sites, liftedBy, reopenAfter, homesDown }: RestoredHome) => ({
  settling_id: settlingId,
  sites,
  lifted_by: liftedBy,
  reopen_after: reopenAfter,
  homes_down: homesDown,
});

export const divergentApp = ({ appid, siteId, why }: DivergentApp) => ({ appid, site_id: siteId, why });

export const app = ({ appid, name, version, previousExpiresAt, revokedAt, createdAt }: AppSummary) => ({
  appid,
  name,
  version,
  previous_expires_at: previousExpiresAt,
  revoked_at: revokedAt,
  created_at: createdAt,
});

export const rotatedSecret = ({ appid, secret, version, previousExpiresAt }: RotatedSecret) => ({
  appid,
  secret,
  version,
  previous_expires_at: previousExpiresAt,
});

export const resealed = ({ resealed, remaining, unopened, homesDown, ...named }: Resealed) => ({
  resealed,
  remaining,
  unopened,
  unopened_apps: named.unopenedApps,
  unopened_webhooks: named.unopenedWebhooks,
  homes_down: homesDown,
});

export const sessionSummary = (row: SessionRow) => ({
  chat_id: row.id,
  kind: row.kind,
  status: row.status,
  responsible_agent_id: row.responsibleAgentId,
  customer: { sbs: row.customerExternalId, name: row.customerName },
  created_at: row.createdAt,
});

/** Everything stored of one session. */
export const sessionDetail = ({ session, customer, participants, messages }: StoredSession) => ({
  ...Object.fromEntries(SESSION_FIELDS.map(([column, name]) => [name, session[column]])),
  customer: { sbs: customer.externalId, name: customer.name, ip: customer.ip },
  participants: participants.map((each) => ({ agent_id: each.agentId, added_by: each.addedBy })),
  messages: messages.map((each) => ({ sender: each.sender, sender_uid: each.senderUid, content: each.content })),
});

export const auditEntry = ({ home, id, at, actor, action, subject, siteId, details }: AuditLogEntry) => ({
  home,
  id,
  at,
  actor,
  action,
  subject,
  site_id: siteId,
  details,
});

export const agent = ({ id, name, status }: Agent) => ({ id, name, status });

export const issuedApp = ({ appid, secret, name, version }: IssuedApp) => ({ appid, secret, name, version });
