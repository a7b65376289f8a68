import { accessPage, postEndSession } from "./access/access-page.tsx";
import { agentPage, postAgent } from "./agents/agent-page.tsx";
import { agentsPage, postAgents } from "./agents/agents-page.tsx";
import { appPageOrMissing, postRelease, postRevoke, releasePage, revokePage, secretOwnerOf } from "./apps/app-page.tsx";
import { appsPage, postApp } from "./apps/apps-page.tsx";
import { postTestCall, testCallPage, testResultPage } from "./apps/test-call.tsx";
import { auditFile, auditPage } from "./audit/audit-page.tsx";
import { customersPage, postFind } from "./customers/customers-page.tsx";
import { erasurePage, postErase, postErasure } from "./customers/erase-customer.tsx";
import { postCustomerExport } from "./customers/export-customer.tsx";
import type { ConsoleCall } from "./env.ts";
import { homesPage } from "./homes/homes-page.tsx";
import { postRestored, restoredPage } from "./homes/restored-home.tsx";
import { callPage } from "./journal/call-page.tsx";
import { refusalsPage } from "./journal/refusals-page.tsx";
import { metricsPage } from "./metrics/metrics-page.tsx";
import { form, page } from "./page-call.ts";
import { endPersonPage, peoplePage, postEndPerson, postPeople } from "./people/people-page.tsx";
import { postSearch, searchPage } from "./search/search-page.tsx";
import { secretPages } from "./secrets/secret-pages.tsx";
import { sessionPage } from "./sessions/session-page.tsx";
import { sessionsPage } from "./sessions/sessions-page.tsx";
import { getSignIn, postLanguage, postSignIn, postSignOut } from "./sign-in/sign-in-pages.tsx";
import { postSignatureCheck, signatureCheckPage } from "./signature-check/signature-check-page.tsx";
import { deletePage, exportPage, postDelete, postSiteExport } from "./sites/export-and-deletion.tsx";
import {
  chatIdPage,
  closePage,
  eventsOffPage,
  postChatId,
  postClose,
  postEventsOff,
  postEventsOn,
  postOpen,
  postRetention,
  retentionPage,
} from "./sites/setting-questions.tsx";
import { postFinish, sitePage } from "./sites/site-page.tsx";
import { postSettings, siteSettingsPage } from "./sites/site-settings.tsx";
import { postSite, sitesPage } from "./sites/sites-page.tsx";
import { deleteTokenPage, postDeleteToken, postTokens, tokensPage } from "./tokens/tokens-page.tsx";
import { deliveryPage } from "./webhooks/deliveries.tsx";
import { postSendAgain, sendAgainPage } from "./webhooks/send-again-page.tsx";
import { webhookButton, webhookPage, webhookQuestion } from "./webhooks/webhook-page.tsx";
import {
  postWebhook,
  postWebhooks,
  webhookSecretOf,
  webhookSettingsPage,
  webhooksPage,
} from "./webhooks/webhooks-page.tsx";

const APP = "/sites/:site_id/apps/:appid";
const WEBHOOK = "/sites/:site_id/webhooks/:webhook_id";
const CUSTOMERS = "/sites/:site_id/customers";

/** Every call of the console, with its role, its scope and the audit rows that it may write. */
export const CONSOLE_CALLS: readonly ConsoleCall[] = [
  page("anyone", "/sign-in", getSignIn),
  form("anyone", "/sign-in", ["operator.signed_in", "operator.refused"], postSignIn),
  form("anyone", "/sign-out", ["operator.signed_out"], postSignOut),
  form("anyone", "/language", "It sets a cookie.", postLanguage),

  page("viewer", "/", sitesPage, { scope: "sites" }),
  // An operator who deletes the end of a site's address comes here.
  page("viewer", "/sites", (c) => c.redirect("/console", 303), { scope: "sites" }),
  form("operator", "/sites", ["site.begun", "site.created"], postSite),
  page("viewer", "/sites/:site_id", sitePage, { endedToo: true }),
  form("operator", "/sites/:site_id/finish", ["site.created"], postFinish),
  page("viewer", "/sites/:site_id/settings", siteSettingsPage),
  form("operator", "/sites/:site_id/settings", ["site.renamed"], postSettings),
  page("owner", "/sites/:site_id/first-chat-id", chatIdPage),
  form("owner", "/sites/:site_id/first-chat-id", ["site.first_chat_id_set"], postChatId),
  page("operator", "/sites/:site_id/close", closePage),
  form("operator", "/sites/:site_id/close", ["site.closed"], postClose),
  form("operator", "/sites/:site_id/open", ["site.opened"], postOpen),
  form("operator", "/sites/:site_id/events/on", ["site.events_on"], postEventsOn),
  page("operator", "/sites/:site_id/events/off", eventsOffPage),
  form("operator", "/sites/:site_id/events/off", ["site.events_off"], postEventsOff),
  page("owner", "/sites/:site_id/retention", retentionPage),
  form("owner", "/sites/:site_id/retention", ["site.retention_set"], postRetention),
  page("owner", "/sites/:site_id/export", exportPage),
  form("owner", "/sites/:site_id/export", ["site.exported"], postSiteExport),
  page("owner", "/sites/:site_id/delete", deletePage, { endedToo: true }),
  form("owner", "/sites/:site_id/delete", ["site.deletion_begun"], postDelete, { endedToo: true }),

  page("viewer", "/sites/:site_id/apps", appsPage),
  form("operator", "/sites/:site_id/apps", ["app.routed", "app.issued", "app.imported"], postApp),
  page("viewer", APP, appPageOrMissing),
  page("operator", `${APP}/release`, releasePage),
  form("operator", `${APP}/release`, ["app.released"], postRelease),
  ...secretPages(APP, { rotated: "app.rotated", ended: "app.overlap_ended" }, secretOwnerOf),
  page("operator", `${APP}/test`, testCallPage),
  form("operator", `${APP}/test`, ["app.tested"], postTestCall),
  page("operator", `${APP}/test/result`, testResultPage),
  page("operator", `${APP}/revoke`, revokePage),
  form("operator", `${APP}/revoke`, ["app.revoked"], postRevoke),

  page("viewer", "/sites/:site_id/agents", agentsPage),
  form("operator", "/sites/:site_id/agents", ["agent.added"], postAgents),
  page("viewer", "/sites/:site_id/agents/:id", agentPage),
  form("operator", "/sites/:site_id/agents/:id", ["agent.renamed", "agent.enabled", "agent.disabled"], postAgent),

  page("viewer", "/sites/:site_id/webhooks", webhooksPage),
  form("operator", "/sites/:site_id/webhooks", ["webhook.added", "site.events_on"], postWebhooks),
  page("viewer", WEBHOOK, webhookPage),
  form("operator", WEBHOOK, ["webhook.changed"], postWebhook),
  page("operator", `${WEBHOOK}/settings`, webhookSettingsPage),
  page("viewer", `${WEBHOOK}/deliveries/:seq`, deliveryPage),
  ...secretPages(WEBHOOK, { rotated: "webhook.rotated", ended: "webhook.overlap_ended" }, webhookSecretOf),
  form("operator", `${WEBHOOK}/ping`, ["webhook.pinged"], webhookButton("ping")),
  form("operator", `${WEBHOOK}/drill`, ["webhook.drilled"], webhookButton("drill")),
  form("operator", `${WEBHOOK}/redeliver`, ["webhook.redelivered"], webhookButton("redeliver")),
  page("operator", `${WEBHOOK}/send-again`, sendAgainPage),
  form("operator", `${WEBHOOK}/send-again`, ["webhook.redelivered"], postSendAgain),
  form("operator", `${WEBHOOK}/enable`, ["webhook.enabled"], webhookButton("enable")),
  page("operator", `${WEBHOOK}/disable`, webhookQuestion("disable")),
  form("operator", `${WEBHOOK}/disable`, ["webhook.disabled"], webhookButton("disable")),
  page("operator", `${WEBHOOK}/delete`, webhookQuestion("delete")),
  form("operator", `${WEBHOOK}/delete`, ["webhook.deleted"], webhookButton("delete")),

  page("viewer", "/sites/:site_id/sessions", sessionsPage),
  page("viewer", "/sites/:site_id/sessions/:chat_id", sessionPage),

  // No address names a customer, because addresses reach logs and the browser's history: a body or one of their sessions does.
  page("viewer", CUSTOMERS, customersPage),
  form("viewer", `${CUSTOMERS}/find`, "It leads to a page.", postFind),
  form("owner", `${CUSTOMERS}/export`, ["customer.exported"], postCustomerExport),
  form("owner", `${CUSTOMERS}/erase`, ["customer.erasure_begun", "customer.erased"], postErase),
  page("owner", `${CUSTOMERS}/erasures/:erasure_id`, erasurePage),
  form("owner", `${CUSTOMERS}/erasures/:erasure_id`, ["customer.erased"], postErasure),

  page("viewer", "/sites/:site_id/refusals", refusalsPage),
  page("viewer", "/sites/:site_id/requests/:request_id", callPage),

  page("viewer", "/search", searchPage, { scope: "sites" }),
  // The search is a form, so that no address holds the text.
  form("viewer", "/search", "It leads to the page of what was found.", postSearch, { scope: "sites" }),

  // An operator of one site checks requests of this site.
  page("viewer", "/signature-check", signatureCheckPage, { scope: "sites" }),
  form("viewer", "/signature-check", "It only reads.", postSignatureCheck, { scope: "sites" }),

  page("viewer", "/homes", homesPage),
  page("owner", "/homes/:name/restored", restoredPage),
  form("owner", "/homes/:name/restored", ["home.restored", "customer.erased", "site.deletion_begun"], postRestored),

  page("viewer", "/metrics", metricsPage),

  page("viewer", "/audit", auditPage, { scope: "sites" }),
  page("viewer", "/audit.csv", auditFile, { scope: "sites" }),
  // The audit rows of an ended site stay readable.
  page("viewer", "/sites/:site_id/audit", auditPage, { endedToo: true }),
  page("viewer", "/sites/:site_id/audit.csv", auditFile, { endedToo: true }),

  page("owner", "/people", peoplePage),
  form("owner", "/people", ["person.added"], postPeople),
  page("owner", "/people/:person_id/end", endPersonPage),
  form("owner", "/people/:person_id/end", ["person.ended", "operator.session_ended"], postEndPerson),

  page("owner", "/tokens", tokensPage),
  form("owner", "/tokens", ["token.created"], postTokens),
  page("owner", "/tokens/:token_id/delete", deleteTokenPage),
  form("owner", "/tokens/:token_id/delete", ["token.deleted"], postDeleteToken),

  page("viewer", "/access", accessPage, { scope: "own" }),
  form("viewer", "/access/:session/end", ["operator.session_ended", "operator.signed_out"], postEndSession, {
    scope: "own",
  }),
];
