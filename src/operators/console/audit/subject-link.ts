import { isVisible } from "../../../core/fields.ts";
import type { AuditLogEntry } from "../../services/audit.ts";
import { hasEnded, type Site } from "../../services/sites.ts";
import type { View } from "../view.ts";

/** What an entry of the audit log is about. */
export interface AuditSubject {
  text: string;
  /** Whether the text is an id and not a name. */
  isId: boolean;
  /** The address of its page, when there is one that the reader may open. */
  href: string | undefined;
}

/** Actions that end their subject, which then has no page. */
const ENDING_ACTIONS: readonly AuditLogEntry["action"][] = ["webhook.deleted", "app.released", "token.deleted"];

/** @param site the entry's site, as the directory stores it */
export function subjectOf(view: View, entry: AuditLogEntry, site: Site | undefined): AuditSubject {
  const { action, subject, siteId } = entry;
  const path = ENDING_ACTIONS.includes(action) ? undefined : pathOf(entry, site);
  const href = path !== undefined && view.may(path, "GET") ? path : undefined;
  if (action.startsWith("site.") && subject === String(siteId)) return { ...textOfSubject(site, subject), href };
  const { ids } = entry.details;
  if (action === "agent.added" && subject === "" && Array.isArray(ids))
    return { text: view.t("{0} agents", ids.length), isId: false, href };
  return { text: subject || "–", isId: subject !== "" && !subject.includes("@"), href };
}

const textOfSubject = (site: Site | undefined, subject: string): Omit<AuditSubject, "href"> =>
  site !== undefined && isVisible(site.name) ? { text: site.name, isId: false } : { text: subject, isId: true };

/** The path of the subject's page. A site that is ending or unfinished has only its own pages. */
function pathOf({ action, subject, siteId }: AuditLogEntry, site: Site | undefined): string | undefined {
  const [subjectKind] = action.split(".");
  if (subjectKind === "home") return "/console/homes";
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
