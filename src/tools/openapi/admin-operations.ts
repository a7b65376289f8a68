import { APPID } from "../../core/credentials/resolve-credentials.ts";
import type { AdminCallId } from "../../operators/admin/calls.ts";
import { DIVERGENT_CURSOR } from "../../operators/services/divergent-apps.ts";
import { type CallWords, ID_CURSOR, QUERY_WORDS } from "./admin-call.ts";

const APPID_CURSOR = { ...QUERY_WORDS, cursor: { ...QUERY_WORDS.cursor, pattern: APPID.source } };

/** The words for the calls of the admin API, apart from those that have a file of their own. */
export const adminWords = {
  issueApp: {
    summary: "Issue an app",
    description:
      "Makes an appid and a secret for a back end, or takes over those of another service. When a database does not answer, the 503 names an appid that is kept for the site without an app: send the call again with it, or release it.",
    body: "NewApp",
    answer: { status: 201, schema: "IssuedApp" },
    description200: "The app was issued. The secret is shown here only.",
  },
  listApps: {
    summary: "List a site's apps",
    query: APPID_CURSOR,
    answer: { status: 200, schema: "AppPage" },
    description200: "A page of apps, by appid; never with a secret.",
  },
  rotateSecret: {
    summary: "Rotate an app's secret",
    description:
      "Gives the app a new secret. The one in use verifies too until the overlap ends. While an overlap runs, another rotation is 409 unless `ends` says which secret ends, or `overlap_seconds` is 0. Give `expected_version`, so that a call repeated after a lost answer rotates once. The body may be left out.",
    body: "Rotation",
    answer: { status: 200, schema: "RotatedApp" },
    description200: "The app has a new secret, shown here only.",
  },
  endOverlap: {
    summary: "End the previous secret of an app",
    description:
      "From the next request on, only the secret in use verifies. No new secret is made. When there is no previous secret, nothing changes and the answer is the same. The body may be left out.",
    body: "OverlapEnd",
    answer: { status: 200, schema: "EndedOverlap" },
    description200: "The app has one secret.",
  },
  revokeApp: {
    summary: "Revoke an app, or release an appid that has none",
    description:
      "Ends the app for good, from its next request on; its appid stays its site's. An appid that is kept for a site without an app is released: any site can get it. That is 409 when somebody asks for it at this moment, and 503 while its home or `main` is closed.",
    answer: { status: 204 },
    description200: "The app is revoked, or the appid is released.",
  },
  resealSecrets: {
    summary: "Seal secrets with the current master key",
    description:
      "After MASTER_KEY was changed and the one before put into MASTER_KEY_PREVIOUS: seals anew what the earlier key sealed, 100 apps and webhooks a call. Closed homes are not touched. Call again until `remaining` is 0 and `homes_down` is empty; when `unopened` is 0 too, the earlier key can go.",
    answer: { status: 200, schema: "Resealed" },
    description200: "What was sealed anew and what remains.",
  },
  addAgent: {
    summary: "Add an agent to a site",
    body: "NewAgent",
    answer: { status: 201, schema: "Agent" },
    description200: "The agent was added, in normal status.",
  },
  listAgents: {
    summary: "List a site's agents",
    query: ID_CURSOR,
    answer: { status: 200, schema: "AgentPage" },
    description200: "A page of agents, by id.",
  },
  changeAgent: {
    summary: "Rename, enable or disable an agent",
    body: "AgentChange",
    answer: { status: 200, schema: "Agent" },
    description200: "The agent as it is now.",
  },
  listSessions: {
    summary: "List a site's sessions",
    query: {
      ...ID_CURSOR,
      status: { description: "Only sessions of this status." },
      sbs: { description: "Only sessions of this customer." },
    },
    answer: { status: 200, schema: "SessionPage" },
    description200: "A page of sessions, newest first.",
  },
  readSession: {
    summary: "Read everything stored about a session",
    answer: { status: 200, schema: "Session" },
    description200: "The session.",
  },
  listHomes: {
    summary: "List the homes",
    description:
      "Every database that sites can be made in, `main` first, and every home that a site names although none is bound.",
    answer: { status: 200, schema: "HomeList" },
    description200: "The homes.",
  },
  settleRestoredHome: {
    summary: "Make a home fit for use after D1 Time Travel",
    description:
      "Call it once a closed home was restored, before it is opened. It gives the home the sites that it lost, and lifts the chat ids and the event counts of every site. Of `main`, it also gives the directory the sites and apps of the other homes. The same `settling_id` again lifts nothing more and goes on where the call before stopped; without one, each call lifts. The body may be left out.",
    body: "Restored",
    answer: { status: 200, schema: "RestoredHome" },
    refusals: [404, 409],
    description200: "The home is fit for use from `reopen_after` on.",
  },
  listDivergentApps: {
    summary: "List the apps to look at after a restore",
    description:
      "The apps that the home knows otherwise than the directory or KV. Of `main`, also the apps of other homes that no route leads to; a home that does not answer is named in `homes_down`. A page compares at most 5,000 apps: it may have fewer items than `limit`, or none, and yet a `next_cursor`.",
    query: {
      ...QUERY_WORDS,
      cursor: { ...QUERY_WORDS.cursor, pattern: DIVERGENT_CURSOR.source },
    },
    answer: { status: 200, schema: "DivergentAppPage" },
    refusals: [404],
    description200: "A page of apps.",
  },
} satisfies Partial<Record<AdminCallId, CallWords>>;
