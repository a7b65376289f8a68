import type { AuditLogEntry } from "../../../services/audit.ts";
import { keptText } from "../parts/kept-text.ts";
import type { View } from "../view.ts";

/** Of agents that were added together, this many are named. */
const MOST_NAMED = 10;

/** Changes from one name to another: a name may look like a word of a status. */
const RENAMED: readonly AuditLogEntry["action"][] = ["site.renamed", "agent.renamed"];

/** What a row of the audit log says beside its action and its subject, in the reader's language. */
export function detailText(view: View, { action, details }: Pick<AuditLogEntry, "action" | "details">): string {
  const { from, to, ids, names, ...others } = details;
  const wordOf = (value: unknown) => {
    if (RENAMED.includes(action)) return String(value);
    return action === "site.retention_set"
      ? keptText(view, typeof value === "number" ? value : null)
      : valueText(view, value);
  };
  const arrow = (before: unknown, after: unknown) =>
    before === after ? wordOf(after) : `${wordOf(before)} → ${wordOf(after)}`;
  const isChange = from !== undefined && to !== undefined;
  const parts: (string | undefined)[] = [];
  for (const [key, value] of Object.entries(others)) {
    if (isChange && isObject(from) && isObject(to) && key in to) {
      parts.push(namedText(view, key, arrow(from[key], to[key])));
    } else if (isChange && NAMED_CHANGES.includes(key)) {
      parts.push(namedText(view, key, arrow(from, to)));
    } else {
      parts.push(namedText(view, key, value));
    }
  }
  if (isChange && !isObject(to) && !NAMED_CHANGES.some((key) => key in others)) parts.push(arrow(from, to));
  if (Array.isArray(ids) && Array.isArray(names)) parts.push(agentsText(view, ids, names));
  return parts.filter((part) => part !== undefined).join(" · ") || "–";
}

/** The keys whose value is also the `to` of the change. */
const NAMED_CHANGES = ["first_chat_id", "version"];

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** @returns undefined for what tells the reader nothing */
function namedText(view: View, key: string, value: unknown): string | undefined {
  const { t } = view;
  if (value === null || (Array.isArray(value) && value.length === 0)) return undefined;
  switch (key) {
    case "call":
      return undefined;
    case "name":
      return String(value);
    case "imported":
      return valueText(view, value);
    case "home":
      return view.hasHomes ? t("home {0}", String(value)) : undefined;
    case "origin":
      return t("origin {0}", String(value));
    case "events":
      return t("events {0}", valueText(view, value));
    case "path":
      return t("another path or query");
    case "reason":
      return t("reason {0}", String(value));
    case "count":
      return t("times {0}", String(value));
    case "role":
      return t("role {0}", valueText(view, value));
    case "status":
      return t("status {0}", valueText(view, value));
    case "since":
      return t("from {0}", view.time(Number(value)));
    case "until":
      return t("up to {0}", view.time(Number(value)));
    case "previous_expires_at":
      return t("previous until {0}", view.time(Number(value)));
    case "lifted_by":
      return t("session numbers skipped (chat_id): {0}", new Intl.NumberFormat(view.language).format(Number(value)));
    case "queued":
      return t("queued {0}", String(value));
    case "apps":
      return t("apps {0}", String(value));
    case "webhooks":
      return t("webhooks {0}", String(value));
    case "first_chat_id":
      // 1 is the default, which no operator chose.
      return value === 1 ? undefined : `first_chat_id ${value}`;
    default:
      return `${key} ${value}`;
  }
}

function valueText(view: View, value: unknown): string {
  const { t } = view;
  if (Array.isArray(value)) return value.map((each) => valueText(view, each)).join(t(", "));
  const texts: Record<string, string> = {
    ...{ open: t("Open"), closed: t("Closed"), normal: t("Normal"), enabled: t("Enabled"), disabled: t("Disabled") },
    ...{ true: t("On"), false: t("Off") },
    ...{ viewer: t("viewer"), operator: t("operator"), owner: t("owner") },
    ...{ pending: t("Pending"), failed: t("Failed"), missed: t("Missed"), delivered: t("Delivered") },
  };
  return texts[String(value)] ?? String(value ?? "–");
}

function agentsText({ t }: View, ids: unknown[], names: unknown[]): string {
  const named = ids.slice(0, MOST_NAMED).map((id, at) => `${id} ${names[at]}`);
  const more = ids.length - named.length;
  return [...named, ...(more > 0 ? [t("and {0} more", more)] : [])].join(t(", "));
}
