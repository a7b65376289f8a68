import * as z from "zod/mini";
import { AGENT_STATUSES } from "../services/agents.ts";
import type { ExportedSite } from "../services/export-site.ts";
import { ENDED_STATUSES, SITE_STATUSES } from "../services/sites.ts";
import { customerData, customerSchema, exportedSessionSchema, sessionData } from "./customer-data.ts";
import { show } from "./show.ts";

/** This file makes the JSON about a site and its agents, and the lines of a site's export, for both surfaces of operators. */

/** Only the site's home knows its settings, so lists of sites leave them out. */
export const siteSchema = z.object({
  id: z.int(),
  name: z.string(),
  home: z.string(),
  status: z.enum(["creating", ...SITE_STATUSES, ...ENDED_STATUSES]),
});

export const siteEntrySchema = z.extend(siteSchema, { created_at: z.int() });

export const agentSchema = z.object({ id: z.int(), name: z.string(), status: z.enum(AGENT_STATUSES) });

/** In each line, `kind` names the kind of line, so the session's own kind gets another name. */
const { kind: sessionKind, ...sessionShape } = exportedSessionSchema.shape;

export const LINES = {
  site: z.object({ kind: z.enum(["site"]), ...siteEntrySchema.shape }),
  agent: z.object({ kind: z.enum(["agent"]), ...agentSchema.shape }),
  app: z.object({
    kind: z.enum(["app"]),
    appid: z.string(),
    name: z.string(),
    revoked_at: z.nullable(z.int()),
    created_at: z.int(),
  }),
  customer: z.object({ kind: z.enum(["customer"]), ...customerSchema.shape }),
  session: z.object({
    kind: z.enum(["session"]),
    ...sessionShape,
    session_kind: sessionKind,
    sbs: z.string(),
  }),
  end: z.object({ kind: z.enum(["end"]), next: z.nullable(z.string()) }),
};

function linesOf({ site, agents, apps, sessions: exportedSessions }: ExportedSite): object[] {
  const customerOf = new Map(exportedSessions.customers.map((customer) => [customer.firstChatId, customer]));
  const joined = Map.groupBy(exportedSessions.participants, ({ sessionId }) => sessionId);
  const messagesBySession = Map.groupBy(exportedSessions.messages, ({ sessionId }) => sessionId);
  return [
    ...(site === undefined ? [] : [show(LINES.site, { kind: "site", ...site })]),
    ...agents.map((agent) => show(LINES.agent, { kind: "agent", ...agent })),
    ...apps.map((app) => show(LINES.app, { kind: "app", ...app })),
    ...exportedSessions.sessions.flatMap((session) => {
      const { id, customerExternalId: sbs } = session;
      const customer = customerOf.get(id);
      const { kind, ...data } = sessionData({
        ...session,
        participants: joined.get(id) ?? [],
        messages: messagesBySession.get(id) ?? [],
      });
      return [
        ...(customer === undefined ? [] : [show(LINES.customer, { kind: "customer", ...customerData(customer) })]),
        show(LINES.session, { ...data, kind: "session", sessionKind: kind, sbs }),
      ];
    }),
  ];
}

/** The text of an export as NDJSON, one JSON value on each line. Parts that follow each other get one end: that of the last. */
export function exportText(parts: readonly ExportedSite[]): string {
  const end = show(LINES.end, { kind: "end", next: parts.at(-1)?.next ?? null });
  return [...parts.flatMap(linesOf), end].map((line) => `${JSON.stringify(line)}\n`).join("");
}
