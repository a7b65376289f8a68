import addAgent, { documentation as addAgentWords } from "./agents/add-agent.ts";
import changeAgent, { documentation as changeAgentWords } from "./agents/change-agent.ts";
import listAgents, { documentation as listAgentsWords } from "./agents/list-agents.ts";
import endOverlap, { documentation as endOverlapWords } from "./apps/end-overlap.ts";
import issueApp, { documentation as issueAppWords } from "./apps/issue-app.ts";
import listApps, { documentation as listAppsWords } from "./apps/list-apps.ts";
import revokeApp, { documentation as revokeAppWords } from "./apps/revoke-app.ts";
import rotateSecret, { documentation as rotateSecretWords } from "./apps/rotate-secret.ts";
import listAuditLog, { documentation as listAuditLogWords } from "./audit/list-audit-log.ts";
import eraseCustomer, { documentation as eraseCustomerWords } from "./customers/erase-customer.ts";
import exportCustomer, { documentation as exportCustomerWords } from "./customers/export-customer.ts";
import listDeliveries, { documentation as listDeliveriesWords } from "./deliveries/list-deliveries.ts";
import pingWebhook, { documentation as pingWebhookWords } from "./deliveries/ping-webhook.ts";
import redeliver, { documentation as redeliverWords } from "./deliveries/redeliver.ts";
import redeliverEvents, { documentation as redeliverEventsWords } from "./deliveries/redeliver-events.ts";
import listEvents, { documentation as listEventsWords } from "./events/list-events.ts";
import listDivergentApps, { documentation as listDivergentAppsWords } from "./homes/list-divergent-apps.ts";
import listHomes, { documentation as listHomesWords } from "./homes/list-homes.ts";
import settleRestoredHome, { documentation as settleRestoredHomeWords } from "./homes/settle-restored-home.ts";
import findRefusal, { documentation as findRefusalWords } from "./journal/find-refusal.ts";
import listRefusals, { documentation as listRefusalsWords } from "./journal/list-refusals.ts";
import readCall, { documentation as readCallWords } from "./journal/read-call.ts";
import resealSecrets, { documentation as resealSecretsWords } from "./secrets/reseal-secrets.ts";
import listSessions, { documentation as listSessionsWords } from "./sessions/list-sessions.ts";
import readSession, { documentation as readSessionWords } from "./sessions/read-session.ts";
import changeSite, { documentation as changeSiteWords } from "./sites/change-site.ts";
import createSite, { documentation as createSiteWords } from "./sites/create-site.ts";
import deleteSite, { documentation as deleteSiteWords } from "./sites/delete-site.ts";
import exportSite, { documentation as exportSiteWords } from "./sites/export-site.ts";
import listSites, { documentation as listSitesWords } from "./sites/list-sites.ts";
import readSite, { documentation as readSiteWords } from "./sites/read-site.ts";
import createToken, { documentation as createTokenWords } from "./tokens/create-token.ts";
import deleteToken, { documentation as deleteTokenWords } from "./tokens/delete-token.ts";
import listTokens, { documentation as listTokensWords } from "./tokens/list-tokens.ts";
import readMetrics, { documentation as readMetricsWords } from "./usage/read-metrics.ts";
import readUsage, { documentation as readUsageWords } from "./usage/read-usage.ts";
import addWebhook, { documentation as addWebhookWords } from "./webhooks/add-webhook.ts";
import changeWebhook, { documentation as changeWebhookWords } from "./webhooks/change-webhook.ts";
import deleteWebhook, { documentation as deleteWebhookWords } from "./webhooks/delete-webhook.ts";
import endWebhookOverlap, { documentation as endWebhookOverlapWords } from "./webhooks/end-webhook-overlap.ts";
import listWebhooks, { documentation as listWebhooksWords } from "./webhooks/list-webhooks.ts";
import rotateWebhookSecret, { documentation as rotateWebhookSecretWords } from "./webhooks/rotate-webhook-secret.ts";
import type { CallWords } from "./words.ts";

/** Every call of the admin API, in the order of openapi.json. */
export const ADMIN_CALLS = [
  createSite,
  listSites,
  readSite,
  exportSite,
  deleteSite,
  changeSite,
  issueApp,
  listApps,
  rotateSecret,
  endOverlap,
  revokeApp,
  resealSecrets,
  addAgent,
  listAgents,
  changeAgent,
  listSessions,
  readSession,
  exportCustomer,
  eraseCustomer,
  listHomes,
  settleRestoredHome,
  listDivergentApps,
  listRefusals,
  readCall,
  findRefusal,
  readUsage,
  readMetrics,
  listAuditLog,
  createToken,
  listTokens,
  deleteToken,
  listEvents,
  addWebhook,
  listWebhooks,
  changeWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  endWebhookOverlap,
  pingWebhook,
  listDeliveries,
  redeliverEvents,
  redeliver,
];

export type AdminCallId = (typeof ADMIN_CALLS)[number]["id"];

/** The words of every call. The Worker does not use this list, so its bundle leaves it out. */
export const ADMIN_WORDS: Readonly<Record<AdminCallId, () => CallWords>> = {
  createSite: createSiteWords,
  listSites: listSitesWords,
  readSite: readSiteWords,
  exportSite: exportSiteWords,
  deleteSite: deleteSiteWords,
  changeSite: changeSiteWords,
  issueApp: issueAppWords,
  listApps: listAppsWords,
  rotateSecret: rotateSecretWords,
  endOverlap: endOverlapWords,
  revokeApp: revokeAppWords,
  resealSecrets: resealSecretsWords,
  addAgent: addAgentWords,
  listAgents: listAgentsWords,
  changeAgent: changeAgentWords,
  listSessions: listSessionsWords,
  readSession: readSessionWords,
  exportCustomer: exportCustomerWords,
  eraseCustomer: eraseCustomerWords,
  listHomes: listHomesWords,
  settleRestoredHome: settleRestoredHomeWords,
  listDivergentApps: listDivergentAppsWords,
  listRefusals: listRefusalsWords,
  readCall: readCallWords,
  findRefusal: findRefusalWords,
  readUsage: readUsageWords,
  readMetrics: readMetricsWords,
  listAuditLog: listAuditLogWords,
  createToken: createTokenWords,
  listTokens: listTokensWords,
  deleteToken: deleteTokenWords,
  listEvents: listEventsWords,
  addWebhook: addWebhookWords,
  listWebhooks: listWebhooksWords,
  changeWebhook: changeWebhookWords,
  deleteWebhook: deleteWebhookWords,
  rotateWebhookSecret: rotateWebhookSecretWords,
  endWebhookOverlap: endWebhookOverlapWords,
  pingWebhook: pingWebhookWords,
  listDeliveries: listDeliveriesWords,
  redeliverEvents: redeliverEventsWords,
  redeliver: redeliverWords,
};
