import { SESSION_PROPERTIES } from "../../core/operations/describe-session.ts";
import { AGENT_STATUSES } from "../../core/store/schema.ts";
import { agentChangeSchema, newAgentSchema } from "../../operators/services/agents.ts";
import { issueAppSchema } from "../../operators/services/apps.ts";
import { reconcileSchema } from "../../operators/services/homes.ts";
import { endOverlapSchema, rotationSchema } from "../../operators/services/rotation.ts";
import { exactly, integer, orNull, string, time } from "./components.ts";
import { type JsonSchema, jsonSchemaOf, type Words } from "./json-schema.ts";

export const TIME = 1781683144;
const AGENT_STATUS = { enum: AGENT_STATUSES, examples: ["normal"] };

/** NAME_RULE of fields.ts as a pattern: no control character or direction override, and at least one visible character. */
const CONTROL = "\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069";
const UNSEEN =
  "\\u0020\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f" +
  "\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb";
const NAME_PATTERN = `^[^${CONTROL}]*[^${CONTROL}${UNSEEN}][^${CONTROL}]*$`;

export const NAME = (whose: string, example: string) => ({
  description: `${whose}, for people. At least one character can be seen, and none is a control character or direction override (U+202A-202E, U+2066-2069).`,
  pattern: NAME_PATTERN,
  examples: [example],
});
const SECRET_LENGTH = { minLength: 8, maxLength: 256 };

export const siteId = integer("The site's id.", { minimum: 1, examples: [1] });
const agentId = integer("The agent's id, as the operator gave it.", { minimum: 1, examples: [10411] });
export const appid = string("The application identifier.", { examples: ["42d7c13c16e7ed0479f2418eb8894310"] });
const secret = string("The secret. Shown in this answer and never again.", {
  examples: ["d1f0a6c5b7e94f2f8a3c6d5e4b7a99018d2c3f4e5a6b7c8d9e0f1a2b3c4d5e6f"],
});
export const version = string("An id of the secret in place, for `expected_version`. Each rotation makes another.", {
  examples: ["9f2c4e6a8b0d1f3e5a7c9b1d3f5e7a90"],
});
export const name = (whose: string, example: string) => string(`${whose}, for people.`, { examples: [example] });

export const homeName = string("The name of a home: `main`, or `apac` for the database bound as HOME_APAC.", {
  examples: ["main"],
});
const agent = {
  id: agentId,
  name: name("What the agent is called", "Li Na"),
  status: string("Only agents in normal status can be put on sessions.", AGENT_STATUS),
};
const { chat_id, kind, status, responsible_agent_id, customer } = SESSION_PROPERTIES;
const { sbs, name: customerName } = customer.properties;
export const created = time("When it was created.", TIME);

/** A list whose entries are a named schema, so that generated code has a name for them. */
export const listOf = (description: string, entry: string): JsonSchema => ({
  type: "array",
  description,
  items: { $ref: `#/components/schemas/${entry}` },
});

export const homesDown: JsonSchema = {
  type: "array",
  description: "The homes that do not answer and are left out here.",
  items: { type: "string" },
  examples: [[]],
};

export const pageSchema = (entry: string, more: Record<string, JsonSchema> = {}): JsonSchema =>
  exactly({
    ...more,
    items: listOf("At most `limit` of them.", entry),
    next_cursor: orNull(string("Give it as `cursor` for the next page; null on the last.", { examples: ["1"] })),
  });

const EXPECTED_VERSION = { examples: ["9f2c4e6a8b0d1f3e5a7c9b1d3f5e7a90"] };

/** The words for the body of a rotation. @param goesOn what the previous secret does during the overlap */
export const ROTATION_WORDS = (goesOn: string): Words => ({
  overlap_seconds: {
    description: `How long the previous secret ${goesOn}. With 0, every old secret ends at once, also one of a running overlap.`,
    examples: [3600],
  },
  expected_version: {
    ...EXPECTED_VERSION,
    description: "The `version` as you know it: 409, and no rotation, when it has another by now.",
  },
  ends: {
    description:
      "Which secret ends while an overlap runs. `previous`: the old one; the one in use takes its place, for `overlap_seconds`. `current`: the new one, which nobody received; the old one keeps its time. `current` is 409 while no overlap runs.",
    examples: ["current"],
  },
});

/** The bodies of the admin API. The bodies of requests come from the schemas that validate them. */
export const adminSchemas = {
  Restored: jsonSchemaOf(reconcileSchema, {
    lift: {
      description:
        "How many chat ids each site skips: more than any site can have given since the time that the home was restored to.",
      examples: [1000000],
    },
    settling_id: {
      description:
        "An id of your own: a new one for each restore, the same for each try to settle it. A random one is made without it.",
      minLength: 1,
      maxLength: 64,
      examples: ["restore-2026-11-22"],
    },
    force: {
      description: "Settles an open home too. Sessions that it opens before that may get ids that were given before.",
      examples: [false],
    },
    receipts: {
      description:
        "Where no KV is bound: the `receipts` that erasures of customers answered with in the last 31 days, so that nobody comes back.",
      examples: [[]],
    },
    deletions: {
      description:
        "Where no KV is bound: the `deletions` that deletions of sites answered with in the last 31 days, so that no site comes back.",
      examples: [[]],
    },
  }),
  NewApp: jsonSchemaOf(issueAppSchema, {
    name: NAME("What the app is called", "Shop back end"),
    appid: {
      description: "An appid to take over from another service; a random one is made without it.",
      minLength: 1,
      maxLength: 64,
      examples: ["my-shop"],
    },
    secret: {
      description: "A secret to take over from another service; a random one is made without it. Printable ASCII.",
      ...SECRET_LENGTH,
      examples: ["keep-this-on-your-server"],
    },
  }),
  Rotation: jsonSchemaOf(rotationSchema, ROTATION_WORDS("keeps verifying")),
  OverlapEnd: jsonSchemaOf(endOverlapSchema, {
    expected_version: {
      ...EXPECTED_VERSION,
      description: "The `version` as you know it: 409, and nothing ends, when it has another by now.",
    },
  }),
  NewAgent: jsonSchemaOf(newAgentSchema, {
    id: { description: "Your id of the agent, unique on the site.", examples: [10411] },
    name: NAME("What the agent is called", "Li Na"),
  }),
  AgentChange: jsonSchemaOf(agentChangeSchema, {
    status: { description: "A disabled agent stays on its sessions and joins no more.", examples: ["disabled"] },
    name: NAME("What the agent is called", "Li Na"),
  }),
  IssuedApp: exactly({ appid, secret, name: name("What the app is called", "Shop back end"), version }),
  App: exactly({
    appid,
    name: name("What the app is called", "Shop back end"),
    version,
    previous_expires_at: orNull(time("Until when the previous secret verifies; null when there is none.", TIME)),
    revoked_at: orNull(time("When it was revoked; null while it is in use.", TIME)),
    created_at: created,
  }),
  AppPage: pageSchema("App"),
  RotatedApp: exactly({
    appid,
    secret,
    version,
    previous_expires_at: orNull(time("Until when the previous secret verifies too; null when none does.", TIME)),
  }),
  EndedOverlap: exactly({
    version,
    previous_expires_at: { type: "null", description: "There is no previous secret." },
  }),
  Resealed: exactly({
    resealed: integer("Secrets sealed anew by this call.", { minimum: 0, examples: [12] }),
    remaining: integer("Secrets that another call can still seal anew: call again until none is left.", {
      minimum: 0,
      examples: [0],
    }),
    unopened: integer("Secrets that no master key here opens, of those this call came to.", {
      minimum: 0,
      examples: [0],
    }),
    unopened_apps: {
      type: "array",
      description: "The first 20 of their apps.",
      maxItems: 20,
      items: appid,
      examples: [[]],
    },
    unopened_webhooks: {
      type: "array",
      description: "The first 20 of their webhooks, by their ids.",
      maxItems: 20,
      items: { type: "string" },
      examples: [[]],
    },
    homes_down: {
      ...homesDown,
      description: "The homes that do not answer or are closed, and are left out here.",
    },
  }),
  HomeList: exactly({ items: listOf("All of them.", "Home") }),
  Home: exactly({
    name: homeName,
    sites: integer("How many sites it has.", { minimum: 0, examples: [12] }),
    status: string(
      "`closed` after `npm run deploy -- --close NAME`, until it is opened; `down` when its database does not answer or is not bound.",
      {
        enum: ["open", "closed", "down"],
        examples: ["open"],
      },
    ),
  }),
  RestoredHome: exactly({
    settling_id: string("The id of this settling: send it along when this call has to be sent again.", {
      pattern: "^[A-Za-z0-9_-]{1,64}$",
      examples: ["restore-2026-11-22"],
    }),
    sites: integer("How many sites the home has.", { minimum: 0, examples: [12] }),
    lifted_by: integer(
      "How many chat ids this call made each of them skip; 0 when this settling had lifted them before.",
      {
        minimum: 0,
        examples: [1000000],
      },
    ),
    erased_again: integer("How many erasures of customers this call carried out again.", {
      minimum: 0,
      examples: [0],
    }),
    erasures_left: integer(
      "Erasures that are still to be carried out again, and deleted sites that are back and cannot be checked. Keep the home closed and send this again, with the `settling_id`, until it is 0.",
      { minimum: 0, examples: [0] },
    ),
    sites_deleted_again: integer(
      "How many sites that were deleted the home had again. Their data goes once it is open.",
      {
        minimum: 0,
        examples: [0],
      },
    ),
    reopen_after: time("By then every `ranstr` that was used before has expired. Open the home after it.", TIME),
    homes_down: {
      ...homesDown,
      description:
        "Only for `main`: homes that were not reached. Their sites and apps are not back: send this again, with the `settling_id`, before `main` is opened.",
    },
    tokens: listOf(
      "Only for `main`: the tokens that it has now and that have not expired, by name, at most 100. Delete those again that were deleted since the restored time.",
      "RestoredToken",
    ),
  }),
  DivergentApp: exactly({
    appid,
    site_id: siteId,
    why: string(
      "`missing`: the directory leads to it, and the home does not have it; `revoked`: it was revoked, and now is not; `rotated`: it had another secret; `unrouted`: its home has it, and the directory does not lead to it.",
      { enum: ["missing", "revoked", "rotated", "unrouted"], examples: ["rotated"] },
    ),
  }),
  DivergentAppPage: pageSchema("DivergentApp", { homes_down: homesDown }),
  Agent: exactly(agent),
  AgentPage: pageSchema("Agent"),
  SessionSummary: exactly({
    chat_id,
    kind,
    status,
    responsible_agent_id,
    customer: exactly({ sbs, name: customerName }),
    created_at: created,
  }),
  SessionPage: pageSchema("SessionSummary"),
  Session: exactly(SESSION_PROPERTIES),
  Participant: exactly({ agent_id: agentId, added_by: integer("The responsible agent at the time.", { minimum: 1 }) }),
  Message: exactly({
    sender: string("The side it is from.", { enum: ["visitor", "agent"] }),
    sender_uid: orNull(integer("The agent's id; 0 when the system wrote it; null for the visitor.")),
    content: string("The text, as it was sent."),
  }),
};
