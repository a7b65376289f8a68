import { HOME_NAME } from "../../core/homes.ts";
import { ENDED_STATUSES, SITE_STATUSES } from "../../core/store/schema.ts";
import { SITE_TABLES, siteDeletionSchema } from "../../operators/services/delete-site.ts";
import { newSiteSchema, siteChangeSchema } from "../../operators/services/sites.ts";
import { appid, created, homeName, NAME, name, pageSchema, siteId, TIME } from "./admin-schemas.ts";
import { exactly, integer, orNull, string, time } from "./components.ts";
import { exportedSession } from "./customer-schemas.ts";
import { jsonSchemaOf } from "./json-schema.ts";

const FIRST_CHAT_ID =
  "The site's next session gets this id. For callers that come from another service: take one above every id that was given there.";

const DELETION_ID = "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12";
const deletionId = string("The deletion's id.", { examples: [DELETION_ID] });
const kind = (name: string) => string("What this line is.", { enum: [name], examples: [name] });
const sbs = string("Your identifier of the customer.", { examples: ["customer_001"] });

const { kind: sessionKind = {}, ...ofSession } = exportedSession.properties ?? {};

const retentionDays = orNull(
  integer("For how many days sessions are kept; null for ever.", { minimum: 1, maximum: 3650, examples: [365] }),
);

const site = {
  id: siteId,
  name: name("What the site is called", "Shop"),
  home: homeName,
  status: string(
    "`creating` while its home does not have it yet: the same call that made it finishes it. `deleting` while its data goes, `deleted` for 31 days after that.",
    { enum: ["creating", ...SITE_STATUSES, ...ENDED_STATUSES], examples: ["open"] },
  ),
};

/** The bodies of the calls about sites. The bodies of requests come from the schemas that validate them. */
export const siteSchemas = {
  NewSite: jsonSchemaOf(newSiteSchema, {
    name: NAME("What the site is called; need not be unique", "Shop"),
    home: {
      description: "The home to make it in, by its name. A site stays in its home.",
      pattern: HOME_NAME.source,
      examples: ["apac"],
    },
    first_chat_id: { description: FIRST_CHAT_ID, examples: [900220] },
  }),
  SiteChange: jsonSchemaOf(siteChangeSchema, {
    name: NAME("What the site is called; need not be unique", "Shop"),
    status: { description: "Signed calls of a closed site are refused with 503.", examples: ["closed"] },
    first_chat_id: {
      description: `${FIRST_CHAT_ID} It must be above every id that the site has given or skipped, or be what was set last.`,
      examples: [900220],
    },
    events: {
      description: "Whether accepted calls leave events from now on. The first webhook of a site turns them on.",
      examples: [true],
    },
    retention_days: {
      description:
        "For how many days sessions are kept; null for ever. Older sessions are deleted within minutes, with messages, participants and events, and customers without sessions. Needs the role `owner`.",
      examples: [365],
    },
  }),
  Site: exactly(site),
  ChangedSite: exactly({
    ...site,
    events: { type: "boolean", description: "Whether accepted calls leave events." },
    retention_days: retentionDays,
  }),
  SiteEntry: exactly({ ...site, created_at: created }),
  SitePage: pageSchema("SiteEntry"),
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
    name: name("What the agent is called", "Li Na"),
    status: string("Only agents in normal status can be put on sessions.", { examples: ["normal"] }),
  }),
  AppLine: exactly({
    kind: kind("app"),
    appid,
    name: name("What the app is called", "Shop back end"),
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
