import { isVisible } from "../../../core/fields.ts";
import { ROLES } from "../../access/role.ts";
import type { AuditAction, AuditLogEntry } from "../../services/audit.ts";
import { hasEnded, type Site } from "../../services/sites.ts";
import { roleText } from "../parts/grant.tsx";
import { daysKeptText } from "../sites/site-settings.tsx";
import type { View } from "../view.ts";

/** Each action in the reader's language. */
export const actionTexts = ({ t }: View): Record<AuditAction, string> => ({
  "site.begun": t("Site begun"),
  "site.created": t("Site created"),
  "site.renamed": t("Site renamed"),
  "site.opened": t("Site opened"),
  "site.closed": t("Site closed"),
  "site.first_chat_id_set": t("First chat_id set"),
  "site.events_on": t("Events turned on"),
  "site.events_off": t("Events turned off"),
  "site.retention_set": t("Retention set"),
  "site.exported": t("Site exported"),
  "site.deletion_begun": t("Deletion of the site begun"),
  "site.deleted": t("Site deleted"),
  "app.routed": t("Appid kept for the site"),
  "app.released": t("Appid released"),
  "app.issued": t("App issued"),
  "app.imported": t("App imported"),
  "app.rotated": t("Secret rotated"),
  "app.overlap_ended": t("Old secret ended"),
  "app.tested": t("Test call sent"),
  "app.revoked": t("App revoked"),
  "agent.added": t("Agent added"),
  "agent.renamed": t("Agent renamed"),
  "agent.enabled": t("Agent enabled"),
  "agent.disabled": t("Agent disabled"),
  "webhook.added": t("Webhook added"),
  "webhook.changed": t("Webhook changed"),
  "webhook.enabled": t("Webhook enabled"),
  "webhook.disabled": t("Webhook disabled"),
  "webhook.rotated": t("Webhook secret rotated"),
  "webhook.overlap_ended": t("Old webhook secret ended"),
  "webhook.redelivered": t("Events sent again"),
  "webhook.deleted": t("Webhook deleted"),
  "webhook.pinged": t("Ping sent"),
  "webhook.drilled": t("Receiver drilled"),
  "token.created": t("Token made"),
  "token.deleted": t("Token deleted"),
  "person.added": t("Person let in"),
  "person.ended": t("Person's access ended"),
  "operator.signed_in": t("Signed in"),
  "operator.signed_out": t("Signed out"),
  "operator.session_ended": t("Console session ended"),
  "operator.refused": t("Sign-in refused"),
  "root.read": t("Read with the ADMIN_TOKEN"),
  "secrets.resealed": t("Secrets re-sealed"),
  "customer.exported": t("Customer's data exported"),
  "customer.erasure_begun": t("Erasing a customer's data begun"),
  "customer.erased": t("Customer's data erased"),
  "home.restored": t("Home restored"),
});

/** The surface that a change came through. */
export const throughText = ({ t }: View, actor: AuditLogEntry["actor"]): string =>
  ({ console: t("Console"), "admin-api": "API", worker: t("Worker") })[actor];

/** How many agents are named at most, when a call added many together. */
const MOST_NAMED = 10;

/** Actions that change a name. A name is shown as it is, because it may look like the word of a status. */
const RENAMED: readonly AuditAction[] = ["site.renamed", "agent.renamed"];

/** The details of a row of the audit log, beside its action and its subject, in the reader's language. They may be empty. */
export function detailText(view: View, { action, details }: Pick<AuditLogEntry, "action" | "details">): string {
  const { from, to, ids, names, ...others } = details;
  const wordOf = (value: unknown) => {
    if (RENAMED.includes(action)) return String(value);
    return action === "site.retention_set"
      ? daysKeptText(view, typeof value === "number" ? value : null)
      : valueText(view, value);
  };
  const arrow = (before: unknown, after: unknown) =>
    before === after ? wordOf(after) : `${wordOf(before)} → ${wordOf(after)}`;
  const isChange = from !== undefined && to !== undefined;
  const changeOf = (key: string, value: unknown) => {
    if (isObject(from) && isObject(to) && key in to) return arrow(from[key], to[key]);
    return isChange && NAMED_CHANGES.includes(key) ? arrow(from, to) : value;
  };
  const parts = Object.entries(others).map(([key, value]) => namedText(view, key, changeOf(key, value)));
  if (isChange && !isObject(to) && !NAMED_CHANGES.some((key) => key in others)) parts.push(arrow(from, to));
  if (Array.isArray(ids) && Array.isArray(names)) parts.push(agentsText(view, ids, names));
  return parts.filter((part) => part !== undefined).join(" · ");
}

/** The keys whose value is also the `to` of the change. */
const NAMED_CHANGES = ["first_chat_id", "version"];

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Details that tell an operator nothing: random ids, and the positions where a call continues. The CSV file has them. */
const HIDDEN_DETAILS = ["call", "version", "previous_version", "next_after_seq"];

/** Details that need no word beside them. */
const PLAIN_DETAILS = ["name", "email", "id"];

/** Details whose word is their name, such as “apps 12”. The events of an erasure are a number, those of a webhook are names. */
export const NAMED_DETAILS =
  "origin events role status queued apps webhooks sessions messages participants deliveries".split(" ");

/** @returns undefined for a detail that tells the reader nothing */
function namedText(view: View, key: string, value: unknown): string | undefined {
  const { t } = view;
  if (key === "previous_expires_at" && value === null) return t("the old one stopped at once");
  if (value === null || HIDDEN_DETAILS.includes(key) || (Array.isArray(value) && value.length === 0)) return undefined;
  if (PLAIN_DETAILS.includes(key)) return String(value);
  const number = () => view.number(Number(value));
  if (NAMED_DETAILS.includes(key))
    return t(`${key} {0}`, typeof value === "number" ? number() : valueText(view, value));
  const texts: Record<string, () => string | undefined> = {
    imported: () => t("brought along: {0}", valueText(view, value)),
    home: () => (view.hasHomes ? t("home {0}", String(value)) : undefined),
    path: () => t("another path or query"),
    reason: () => t("reason: {0}", reasonText(view, String(value))),
    count: () => t("times {0}", number()),
    since: () => t("from {0}", view.time(Number(value))),
    until: () => t("up to {0}", view.time(Number(value))),
    expires_at: () => t("ends {0}", view.time(Number(value))),
    previous_expires_at: () => t("previous until {0}", view.time(Number(value))),
    ends: () => (value === "current" ? t("the one in use ended") : t("the one before ended")),
    lifted_by: () => t("session numbers skipped (chat_id): {0}", number()),
    seq: () => t("event {0}", String(value)),
    event_id: () => t("event {0}", String(value)),
    after: () => (value === 0 ? undefined : t("after session {0}", String(value))),
    after_seq: () => t("after event {0}", String(value)),
    highest_chat_id: () => t("up to session {0}", String(value)),
    hash: () => t("customer's hash {0}", String(value)),
    deletion_id: () => t("id of the deletion {0}", String(value)),
    settling_id: () => t("id of the restore {0}", String(value)),
    site_id: () => t("for site {0} alone", String(value)),
    // 1 is the default, which no operator chose.
    first_chat_id: () => (value === 1 ? undefined : t("first chat_id {0}", String(value))),
  };
  return Object.hasOwn(texts, key) ? texts[key]?.() : `${key.replaceAll("_", " ")} ${valueText(view, value)}`;
}

/** Why the Worker disabled a webhook, or why a sign-in was refused, in the reader's language. */
function reasonText({ t }: View, reason: string): string {
  const texts: Record<string, string> = {
    failing: t("it failed for too long"),
    gone: t("the receiver answered 410"),
    admin_token_wrong: t("a wrong token"),
    token_slip: t("a slip in the token"),
    token_expired: t("an expired token"),
    person_token: t("a person's token at the admin API"),
    person_token_slip: t("a slip in a person's token"),
    person_token_ended: t("a person's token that was ended"),
    client_limit: t("too many attempts"),
    access_no_role: t("the address has no role"),
    access_session_ended: t("the session had ended"),
    assertion_expired: t("the sign-in at Access had expired"),
    certs_unavailable: t("the keys of Access did not come"),
  };
  if (Object.hasOwn(texts, reason)) return texts[reason] ?? reason;
  return reason.startsWith("assertion_") ? t("what Access sent was not right ({0})", reason) : reason;
}

/** Values whose text is their name. */
const STATUSES = ["open", "closed", "normal", "enabled", "disabled", "pending", "failed", "missed", "delivered"];

function valueText(view: View, value: unknown): string {
  const { t } = view;
  if (Array.isArray(value)) return value.map((each) => valueText(view, each)).join(t(", "));
  const text = String(value ?? "–");
  const role = ROLES.find((each) => each === text);
  if (role !== undefined) return roleText(view, role);
  if (STATUSES.includes(text)) return t(text.charAt(0).toUpperCase() + text.slice(1));
  const texts: Record<string, string> = { true: t("On"), false: t("Off"), secret: t("secret") };
  return Object.hasOwn(texts, text) ? (texts[text] ?? text) : text;
}

function agentsText({ t }: View, ids: unknown[], names: unknown[]): string {
  const namedAgents = ids.slice(0, MOST_NAMED).map((id, at) => `${id} ${names[at]}`);
  const unnamedCount = ids.length - namedAgents.length;
  return [...namedAgents, ...(unnamedCount > 0 ? [t("and {0} more", unnamedCount)] : [])].join(t(", "));
}

/** Actions that end their subject, which then has no page. */
const ENDING_ACTIONS: readonly AuditAction[] = ["webhook.deleted", "app.released", "token.deleted", "person.ended"];

/**
 * What an entry is about: its name or its id, and the address of its page, when it has one that the reader may open.
 *
 * @param site the entry's site, as the directory stores it
 */
export function subjectOf(view: View, entry: AuditLogEntry, site: Site | undefined) {
  const { action, subject, siteId, details } = entry;
  const path = ENDING_ACTIONS.includes(action) ? undefined : pathOf(entry, site);
  const href = path !== undefined && view.may(path, "GET") ? path : undefined;
  if (action.startsWith("site.") && subject === String(siteId) && site !== undefined && isVisible(site.name))
    return { text: site.name, isId: false, href };
  if (action === "agent.added" && subject === "" && Array.isArray(details.ids))
    return { text: view.t("{0} agents", details.ids.length), isId: false, href };
  return { text: subject || "–", isId: subject !== "" && !subject.includes("@"), href };
}

/** The path of the subject's page. A site that is ending or unfinished has only its own pages. */
function pathOf({ action, subject, siteId }: AuditLogEntry, site: Site | undefined): string | undefined {
  const [subjectKind] = action.split(".");
  if (subjectKind === "home") return "/console/homes";
  if (subjectKind === "person") return "/console/people";
  if (subjectKind === "token") return "/console/tokens";
  if (subjectKind === "operator") return "/console/access";
  if (site === undefined) return undefined;
  const path = `/console/sites/${siteId}`;
  if (subjectKind === "site") return path;
  if (hasEnded(site) || site.status === "creating") return undefined;
  if (subjectKind === "agent") return subject === "" ? `${path}/agents` : `${path}/agents/${subject}`;
  if (subjectKind === "app" || subjectKind === "webhook") return `${path}/${subjectKind}s/${subject}`;
  return subjectKind === "customer" && subject !== "" ? `${path}/customers/erasures/${subject}` : undefined;
}
