import addAgent, { documentation as addAgentDocumentation } from "./agents/add-agent.ts";
import changeAgent, { documentation as changeAgentDocumentation } from "./agents/change-agent.ts";
import listAgents, { documentation as listAgentsDocumentation } from "./agents/list-agents.ts";
import endOverlap, { documentation as endOverlapDocumentation } from "./apps/end-overlap.ts";
import issueApp, { documentation as issueAppDocumentation } from "./apps/issue-app.ts";
import listApps, { documentation as listAppsDocumentation } from "./apps/list-apps.ts";
import revokeApp, { documentation as revokeAppDocumentation } from "./apps/revoke-app.ts";
import rotateSecret, { documentation as rotateSecretDocumentation } from "./apps/rotate-secret.ts";
import listAuditLog, { documentation as listAuditLogDocumentation } from "./audit/list-audit-log.ts";
import eraseCustomer, { documentation as eraseCustomerDocumentation } from "./customers/erase-customer.ts";
import exportCustomer, { documentation as exportCustomerDocumentation } from "./customers/export-customer.ts";
import drillWebhook, { documentation as drillWebhookDocumentation } from "./deliveries/drill-webhook.ts";
import listDeliveries, { documentation as listDeliveriesDocumentation } from "./deliveries/list-deliveries.ts";
import pingWebhook, { documentation as pingWebhookDocumentation } from "./deliveries/ping-webhook.ts";
import redeliver, { documentation as redeliverDocumentation } from "./deliveries/redeliver.ts";
import redeliverEvents, { documentation as redeliverEventsDocumentation } from "./deliveries/redeliver-events.ts";
import listEvents, { documentation as listEventsDocumentation } from "./events/list-events.ts";
import listDivergentApps, { documentation as listDivergentAppsDocumentation } from "./homes/list-divergent-apps.ts";
import listHomes, { documentation as listHomesDocumentation } from "./homes/list-homes.ts";
import settleRestoredHome, { documentation as settleRestoredHomeDocumentation } from "./homes/settle-restored-home.ts";
import findRefusal, { documentation as findRefusalDocumentation } from "./journal/find-refusal.ts";
import listRefusals, { documentation as listRefusalsDocumentation } from "./journal/list-refusals.ts";
import readCall, { documentation as readCallDocumentation } from "./journal/read-call.ts";
import addPerson, { documentation as addPersonDocumentation } from "./people/add-person.ts";
import endPerson, { documentation as endPersonDocumentation } from "./people/end-person.ts";
import listPeople, { documentation as listPeopleDocumentation } from "./people/list-people.ts";
import resealSecrets, { documentation as resealSecretsDocumentation } from "./secrets/reseal-secrets.ts";
import listSessions, { documentation as listSessionsDocumentation } from "./sessions/list-sessions.ts";
import readSession, { documentation as readSessionDocumentation } from "./sessions/read-session.ts";
import changeSite, { documentation as changeSiteDocumentation } from "./sites/change-site.ts";
import createSite, { documentation as createSiteDocumentation } from "./sites/create-site.ts";
import deleteSite, { documentation as deleteSiteDocumentation } from "./sites/delete-site.ts";
import exportSite, { documentation as exportSiteDocumentation } from "./sites/export-site.ts";
import listSites, { documentation as listSitesDocumentation } from "./sites/list-sites.ts";
import readSite, { documentation as readSiteDocumentation } from "./sites/read-site.ts";
import createToken, { documentation as createTokenDocumentation } from "./tokens/create-token.ts";
import deleteToken, { documentation as deleteTokenDocumentation } from "./tokens/delete-token.ts";
import listTokens, { documentation as listTokensDocumentation } from "./tokens/list-tokens.ts";
import readMetrics, { documentation as readMetricsDocumentation } from "./usage/read-metrics.ts";
import readUsage, { documentation as readUsageDocumentation } from "./usage/read-usage.ts";
import addWebhook, { documentation as addWebhookDocumentation } from "./webhooks/add-webhook.ts";
import changeWebhook, { documentation as changeWebhookDocumentation } from "./webhooks/change-webhook.ts";
import deleteWebhook, { documentation as deleteWebhookDocumentation } from "./webhooks/delete-webhook.ts";
import endWebhookOverlap, { documentation as endWebhookOverlapDocumentation } from "./webhooks/end-webhook-overlap.ts";
import listWebhooks, { documentation as listWebhooksDocumentation } from "./webhooks/list-webhooks.ts";
import rotateWebhookSecret, {
  documentation as rotateWebhookSecretDocumentation,
} from "./webhooks/rotate-webhook-secret.ts";
import type { CallDocumentation } from "./words.ts";

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
  addPerson,
  listPeople,
  endPerson,
  listEvents,
  addWebhook,
  listWebhooks,
  changeWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  endWebhookOverlap,
  pingWebhook,
  drillWebhook,
  listDeliveries,
  redeliverEvents,
  redeliver,
];

export type AdminCallId = (typeof ADMIN_CALLS)[number]["id"];

/** The documentation of every call. The Worker does not use this list, so its bundle leaves it out. */
export const ADMIN_DOCUMENTATION: Readonly<Record<AdminCallId, () => CallDocumentation>> = {
  createSite: createSiteDocumentation,
  listSites: listSitesDocumentation,
  readSite: readSiteDocumentation,
  exportSite: exportSiteDocumentation,
  deleteSite: deleteSiteDocumentation,
  changeSite: changeSiteDocumentation,
  issueApp: issueAppDocumentation,
  listApps: listAppsDocumentation,
  rotateSecret: rotateSecretDocumentation,
  endOverlap: endOverlapDocumentation,
  revokeApp: revokeAppDocumentation,
  resealSecrets: resealSecretsDocumentation,
  addAgent: addAgentDocumentation,
  listAgents: listAgentsDocumentation,
  changeAgent: changeAgentDocumentation,
  listSessions: listSessionsDocumentation,
  readSession: readSessionDocumentation,
  exportCustomer: exportCustomerDocumentation,
  eraseCustomer: eraseCustomerDocumentation,
  listHomes: listHomesDocumentation,
  settleRestoredHome: settleRestoredHomeDocumentation,
  listDivergentApps: listDivergentAppsDocumentation,
  listRefusals: listRefusalsDocumentation,
  readCall: readCallDocumentation,
  findRefusal: findRefusalDocumentation,
  readUsage: readUsageDocumentation,
  readMetrics: readMetricsDocumentation,
  listAuditLog: listAuditLogDocumentation,
  createToken: createTokenDocumentation,
  listTokens: listTokensDocumentation,
  deleteToken: deleteTokenDocumentation,
  addPerson: addPersonDocumentation,
  listPeople: listPeopleDocumentation,
  endPerson: endPersonDocumentation,
  listEvents: listEventsDocumentation,
  addWebhook: addWebhookDocumentation,
  listWebhooks: listWebhooksDocumentation,
  changeWebhook: changeWebhookDocumentation,
  deleteWebhook: deleteWebhookDocumentation,
  rotateWebhookSecret: rotateWebhookSecretDocumentation,
  endWebhookOverlap: endWebhookOverlapDocumentation,
  pingWebhook: pingWebhookDocumentation,
  drillWebhook: drillWebhookDocumentation,
  listDeliveries: listDeliveriesDocumentation,
  redeliverEvents: redeliverEventsDocumentation,
  redeliver: redeliverDocumentation,
};
