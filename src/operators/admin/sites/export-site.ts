import * as z from "zod/mini";
import { exportText, LINES } from "../../http/site-data.ts";
import { exportSite, siteExportQuerySchema } from "../../services/export-site.ts";
import { adminCall } from "../admin-call.ts";
import { agent } from "../agents/agent.ts";
import { appName, revokedAt } from "../apps/app.ts";
import { exportedSession } from "../customers/customer-words.ts";
import { appid, type CallDocumentation, type JsonSchema, time } from "../words.ts";
import { createdAt, site } from "./site.ts";

export default adminCall(
  {
    id: "exportSite",
    method: "get",
    path: "/sites/:site_id/export",
    role: "owner",
    scope: "site",
    audit: ["site.exported"],
    query: siteExportQuerySchema,
    response: z.discriminatedUnion("kind", [
      LINES.site,
      LINES.agent,
      LINES.app,
      LINES.customer,
      LINES.session,
      LINES.end,
    ]),
  },
  async (c, { site, query }) => {
    const text = exportText([await exportSite(c.var.ctx, { site, ...query })]);
    return c.body(text, 200, { "content-type": "application/x-ndjson" });
  },
);

export const documentation = (): CallDocumentation => {
  const kind = (name: string): JsonSchema => ({ description: "What this line is.", examples: [name] });
  const sbs = { description: "Your identifier of the customer.", examples: ["customer_001"] };
  const { kind: kindOfSession = {}, ...ofSession } = exportedSession();
  return {
    summary: "Export a site",
    chinese: "导出站点",
    description:
      "What a tenant takes along, as NDJSON: a JSON object a line, whose `kind` says what it is. Agents, apps without secrets, and sessions with messages and participants in the order of their ids; a customer comes before their first session. The last line of each answer is of the kind `end`: call again with its `next` as `after`, until it is null. An answer without that line was cut off: send the same call again. Sessions that are opened or erased meanwhile may be missing, and a customer may come twice. An `after` of another site is 400.",
    query: {
      limit: { description: "How many agents, apps and sessions at most. Customers come in addition." },
      after: {
        description: "`next` of the last line before; leave out for the beginning. That of another site is 400.",
        pattern: "^[1-9][0-9]{0,15}\\.(agents|apps|sessions)\\.[A-Za-z0-9_-]{0,64}$",
      },
    },
    response: {
      name: "ExportLine",
      whole: {
        description:
          "A line of an export. The first line of all is the site, and the last line of each answer is `end`.",
      },
    },
    media: "application/x-ndjson",
    parts: [
      {
        name: "SiteLine",
        schema: LINES.site,
        fields: { kind: kind("site"), ...site().fields, created_at: createdAt() },
      },
      {
        name: "AgentLine",
        schema: LINES.agent,
        fields: { kind: kind("agent"), ...agent().fields },
      },
      {
        name: "AppLine",
        schema: LINES.app,
        fields: {
          kind: kind("app"),
          appid: appid(),
          name: appName(),
          revoked_at: revokedAt(),
          created_at: createdAt(),
        },
      },
      {
        name: "CustomerLine",
        schema: LINES.customer,
        fields: {
          kind: kind("customer"),
          sbs,
          name: { description: "The customer's name.", examples: ["Alice"] },
          ip: { description: "The customer's address.", examples: ["203.0.113.7"] },
          created_at: createdAt(),
          updated_at: time("When the name or the address was given the last time."),
        },
      },
      {
        name: "SessionLine",
        schema: LINES.session,
        fields: { kind: kind("session"), ...ofSession, session_kind: kindOfSession, sbs },
      },
      {
        name: "EndLine",
        schema: LINES.end,
        fields: {
          kind: kind("end"),
          next: {
            description: "Give it as `after` for the next part; null at the end of the export.",
            examples: ["1.sessions.200"],
          },
        },
      },
    ],
    answered: "A part of the export.",
  };
};
