import { SITE_TABLES, siteDeletionSchema } from "../services/delete-site.ts";
import { NAME, site, TIME } from "./admin-schemas.ts";
import { exactly, integer, orNull, string, time } from "./components.ts";
import { exportedSession } from "./customer-schemas.ts";
import { jsonSchemaOf } from "./json-schema.ts";

const DELETION_ID = "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12";
const deletionId = string("The deletion's id.", { examples: [DELETION_ID] });
const siteId = integer("The site's id.", { minimum: 1, examples: [1] });
const kind = (name: string) => string("What this line is.", { enum: [name], examples: [name] });
const appid = string("The application identifier.", { examples: ["42d7c13c16e7ed0479f2418eb8894310"] });
const sbs = string("Your identifier of the customer.", { examples: ["customer_001"] });
const named = (whose: string, example: string) => string(`${whose}, for people.`, { examples: [example] });

const { kind: sessionKind = {}, ...ofSession } = exportedSession.properties ?? {};
const created = time("When it was created.", TIME);

const retentionDays = orNull(
  integer("For how many days sessions are kept; null for ever.", { minimum: 1, maximum: 3650, examples: [365] }),
);

/** The bodies of the calls about the age and the end of a site. */
export const siteSchemas = {
  SiteDeletion: jsonSchemaOf(siteDeletionSchema, {
    name: { ...NAME("The site's name, so that no slip deletes another", "Shop"), pattern: undefined },
  }),
  BegunDeletion: exactly(
    {
      deletion_id: deletionId,
      deletions: {
        type: "array",
        description:
          "Only where no KV is bound. Keep it for 31 days: `POST /admin/homes/{name}/restored` takes it as `deletions`.",
        items: { $ref: "#/components/schemas/KeptDeletion" },
      },
    },
    { required: ["deletion_id"] },
  ),
  KeptDeletion: exactly({
    deletion_id: deletionId,
    site_id: siteId,
    hash: string("A keyed hash that shows that this deployment has made it.", {
      examples: [`1f2e3d4c.${"0".repeat(64)}`],
    }),
  }),
  WholeSite: exactly({
    ...site,
    created_at: created,
    events: { type: "boolean", description: "Whether accepted calls leave events." },
    retention_days: retentionDays,
    oldest_session_at: orNull(time("When the oldest session was created; null without sessions.", TIME)),
    sessions_to_go: orNull(
      integer(
        "How many sessions are older than `retention_days`: estimated from their ids, so there may be fewer. Null when they are kept for ever.",
        { minimum: 0, examples: [0] },
      ),
    ),
    deletion: {
      description: "How far the deletion of the site is; null when it has not begun.",
      anyOf: [{ type: "null" }, { $ref: "#/components/schemas/DeletionProgress" }],
    },
  }),
  DeletionProgress: exactly({
    deletion_id: deletionId,
    begun_at: time("When it was begun.", TIME),
    done_at: orNull(time("When nothing was left of the site; null before.", TIME)),
    remaining: exactly(
      Object.fromEntries(
        Object.keys(SITE_TABLES).map((table) => [
          table,
          integer(`Rows left in \`${table}\`, counted up to a thousand.`, { minimum: 0, examples: [0] }),
        ]),
      ),
    ),
  }),
  ExportLine: {
    description: "A line of an export. The first line of all is the site, and the last line of each answer is `end`.",
    oneOf: ["Site", "Agent", "App", "Customer", "Session", "End"].map((name) => ({
      $ref: `#/components/schemas/${name}Line`,
    })),
  },
  SiteLine: exactly({ kind: kind("site"), ...site, created_at: created }),
  AgentLine: exactly({
    kind: kind("agent"),
    id: integer("The agent's id, as the operator gave it.", { minimum: 1, examples: [10411] }),
    name: named("What the agent is called", "Li Na"),
    status: string("Only agents in normal status can be put on sessions.", { examples: ["normal"] }),
  }),
  AppLine: exactly({
    kind: kind("app"),
    appid,
    name: named("What the app is called", "Shop back end"),
    revoked_at: orNull(time("When it was revoked; null while it is in use.", TIME)),
    created_at: created,
  }),
  CustomerLine: exactly({
    kind: kind("customer"),
    sbs,
    name: string("The customer's name.", { examples: ["Alice"] }),
    ip: string("The customer's address.", { examples: ["203.0.113.7"] }),
    created_at: created,
    updated_at: time("When the name or the address was given the last time.", TIME),
  }),
  SessionLine: exactly({ kind: kind("session"), ...ofSession, session_kind: sessionKind, sbs }),
  EndLine: exactly({
    kind: kind("end"),
    next: orNull(
      string("Give it as `after` for the next part; null at the end of the export.", { examples: ["1.sessions.200"] }),
    ),
  }),
};
