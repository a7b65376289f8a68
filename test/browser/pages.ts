import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OF_NOTE } from "./big-world/sessions.ts";
import type { BigWorld } from "./big-world.ts";

/** A page of the console in the big world. */
export interface KnownPage {
  /** The name in the file name of its picture. */
  name: string;
  /** The path of the call that answers with it, as the console declares this call. */
  call: string;
  /** Its address in the big world. */
  at: (world: BigWorld) => string;
}

const page = (name: string, call: string, at: KnownPage["at"]): KnownPage => ({ name, call, at });

const ofSite = (name: string, call: string, path: string | ((world: BigWorld) => string)): KnownPage =>
  page(name, `/sites/:site_id${call}`, (world) => world.sites.busy + (typeof path === "string" ? path : path(world)));

const ofApp = (name: string, call: string, which: "shop" | "overlapping" | "overlapEnded" | "revoked" | "missing") =>
  ofSite(name, `/apps/:appid${call}`, ({ apps }) => `/apps/${apps[which]}${QUERIES[call] ?? call}`);

const ofWebhook = (name: string, call: string, which: keyof BigWorld["webhooks"], query = "") =>
  ofSite(
    name,
    `/webhooks/:webhook_id${call}`,
    ({ webhooks }) => `/webhooks/${webhooks[which]}${QUERIES[call] ?? call}${query}`,
  );

/** The addresses of pages that need more than the path of their call. */
const QUERIES: Record<string, string> = {
  "/rotate": "/rotate?overlap_seconds=0",
  "/deliveries/:seq": "/deliveries/202",
};

/** Pages that need more than the id of a site in their address, and pages in several states. */
const STATES: readonly KnownPage[] = [
  page("sites", "/", () => "/console"),
  page("sites-filtered", "/", () => "/console?status=trouble&q=wind"),
  page("sites-none", "/", () => "/console?q=nothing"),
  page("restored", "/homes/:name/restored", () => "/console/homes/apac/restored"),
  page("lift", "/homes/:name/restored", () => "/console/homes/apac/restored?lift=1000000"),
  page("lift-bad", "/homes/:name/restored", () => "/console/homes/apac/restored?lift=x"),
  page("audit-all", "/audit", () => "/console/audit"),
  page("token-delete", "/tokens/:token_id/delete", ({ token }) => `/console/tokens/${token}/delete`),
  page("person-end", "/people/:person_id/end", ({ person }) => `/console/people/${person}/end`),
  page("search-empty", "/search", () => "/console/search"),

  ofSite("overview", "", ""),
  page("overview-closed", "/sites/:site_id", ({ sites }) => sites.closed),
  page("overview-empty", "/sites/:site_id", ({ sites }) => sites.empty),
  page("overview-ended", "/sites/:site_id", ({ sites }) => sites.ended),
  page("overview-unfinished", "/sites/:site_id", ({ sites }) => sites.unfinished),
  page("settings-closed", "/sites/:site_id/settings", ({ sites }) => `${sites.closed}/settings`),
  ofSite("first-chat-id", "/first-chat-id", "/first-chat-id?first_chat_id=5000000"),
  ofSite("retention", "/retention", "/retention?days=365"),
  page("delete", "/sites/:site_id/delete", ({ sites }) => `${sites.closed}/delete`),

  ofSite("sessions-filtered", "/sessions", "/sessions?status=replied"),
  ofSite("sessions-of-nobody", "/sessions", "/sessions?sbs=nobody"),
  ofSite("sessions-wrong", "/sessions", "/sessions?chat_id=999999"),
  page("sessions-empty", "/sites/:site_id/sessions", ({ sites }) => `${sites.empty}/sessions`),
  ofSite("session", "/sessions/:chat_id", `/sessions/${OF_NOTE.metadata}`),
  ofSite("session-crowded", "/sessions/:chat_id", `/sessions/${OF_NOTE.crowded}`),
  ofSite("session-long", "/sessions/:chat_id", `/sessions/${OF_NOTE.long}`),
  ofSite("session-unknown", "/sessions/:chat_id", "/sessions/999999"),
  ofSite("customers", "/customers", "/customers"),
  ofSite("customer", "/customers", `/customers?chat_id=${OF_NOTE.metadata}`),
  ofSite("erasure", "/customers/erasures/:erasure_id", ({ erasures }) => `/customers/erasures/${erasures[0]}`),

  page("apps-empty", "/sites/:site_id/apps", ({ sites }) => `${sites.empty}/apps`),
  page("apps-unfinished", "/sites/:site_id/apps", ({ sites }) => `${sites.unfinished}/apps`),
  ofApp("app", "", "shop"),
  ofApp("app-overlapping", "", "overlapping"),
  ofApp("app-overlap-ended", "", "overlapEnded"),
  ofApp("app-revoked", "", "revoked"),
  ofApp("app-missing", "", "missing"),
  ofApp("app-rotate", "/rotate", "overlapping"),
  ofApp("app-end-overlap", "/end-overlap", "overlapping"),
  ofApp("app-secret-gone", "/secret", "shop"),
  ofApp("app-test", "/test", "shop"),
  ofApp("app-revoke", "/revoke", "shop"),
  ofApp("app-release", "/release", "missing"),

  page("agents-empty", "/sites/:site_id/agents", ({ sites }) => `${sites.empty}/agents`),
  ofSite("agents-filtered", "/agents", "/agents?q=a&status=disabled"),
  ofSite("agents-none", "/agents", "/agents?q=nobody"),
  ofSite("agent", "/agents/:id", "/agents/10402"),
  ofSite("agent-filtered", "/agents/:id", "/agents/10402?part=participant&status=waiting"),

  page("webhooks-empty", "/sites/:site_id/webhooks", ({ sites }) => `${sites.empty}/webhooks`),
  ofWebhook("webhook", "", "healthy"),
  ofWebhook("webhook-failing", "", "failing"),
  ofWebhook("webhook-hanging", "", "hanging"),
  ofWebhook("webhook-gone", "", "gone"),
  ofWebhook("webhook-tired", "", "tired"),
  ofWebhook("webhook-long", "", "long"),
  ofWebhook("webhook-misplaced", "", "misplaced"),
  ofWebhook("webhook-failed", "", "healthy", "?status=failed"),
  ofWebhook("webhook-oldest", "", "healthy", "?after=0"),
  ofWebhook("webhook-settings", "/settings", "paused"),
  ofWebhook("webhook-send-again", "/send-again", "hanging"),
  ofWebhook("webhook-send-own", "/send-again", "healthy", "?time=own&since=2027-01-16T08:00&until=2027-01-15T08:00"),
  ofWebhook("webhook-send-day", "/send-again", "healthy", "?time=day&delivered=on"),
  ofWebhook("webhook-send-missed", "/send-again", "healthy", "?time=own&missed=on"),
  ofWebhook("webhook-delivery", "/deliveries/:seq", "hanging"),
  ofWebhook("webhook-delivery-failed", "/deliveries/:seq", "tired"),
  ofWebhook("webhook-delivery-missed", "/deliveries/:seq", "paused"),
  ofWebhook("webhook-rotate", "/rotate", "healthy"),
  ofWebhook("webhook-end-overlap", "/end-overlap", "paused"),
  ofWebhook("webhook-secret-gone", "/secret", "healthy"),
  ofWebhook("webhook-disable", "/disable", "healthy"),
  ofWebhook("webhook-delete", "/delete", "healthy"),

  ofSite("refusals-filtered", "/refusals", "/refusals?reason=signature_mismatch"),
  page("refusals-empty", "/sites/:site_id/refusals", ({ sites }) => `${sites.empty}/refusals`),
  ofSite("call", "/requests/:request_id", ({ refusals }) => `/requests/${refusals[1]?.requestId}`),
  ofSite("refusals-wrong", "/refusals", "/refusals?from=yesterday"),
  ofSite(
    "call-unknown",
    "/requests/:request_id",
    ({ refusals }) => `/requests/${refusals[1]?.requestId.slice(0, -12)}000000000000`,
  ),
  page("not-found", "", () => "/console/nowhere"),
];

const CALLS = readFileSync(join(import.meta.dirname, "../../src/operators/console/calls.ts"), "utf8");

/** The paths that the console declares and that need no more than the id of a site. */
const PLAIN = [...CALLS.matchAll(/page\("\w+", "\/((?:sites\/:site_id\/)?[\w/-]+)"/g)].map(([, path = ""]) => path);

/** Paths that redirect, that need no sign-in, or that STATES has under another name. */
const OTHERS = ["sites", "sign-in", "search", "audit"];

const plain = (path: string): KnownPage => {
  const [, ofOne] = path.split("sites/:site_id/");
  if (ofOne === undefined) return page(path, `/${path}`, () => `/console/${path}`);
  return ofSite(ofOne.replaceAll("/", "-"), `/${ofOne}`, `/${ofOne}`);
};

/** Every page of the console that has an address. `test/operators/console/pictures.test.ts` names a call that has no page here. */
export const PAGES: readonly KnownPage[] = [
  ...PLAIN.filter((path) => !OTHERS.includes(path))
    .map(plain)
    .filter(({ name }) => !STATES.some((state) => state.name === name)),
  ...STATES,
];
