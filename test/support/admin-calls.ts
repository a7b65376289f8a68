import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { AdminCall } from "../../src/operators/admin/admin-call.ts";
import { ADMIN_CALLS, ADMIN_DOCUMENTATION, type AdminCallId } from "../../src/operators/admin/calls.ts";
import { adminSchemas } from "../../src/tools/openapi/admin-paths.ts";
import { documentedExample } from "./documented-example.ts";
import { databaseOf } from "./homes.ts";
import type { ReplacedBindings } from "./isolate.ts";
import { newConsoleSession } from "./new-console-session.ts";
import { newPerson } from "./new-person.ts";
import { newRefusal } from "./new-refusal.ts";
import { newToken } from "./new-token.ts";
import { newWebhook } from "./new-webhook.ts";
import { bookmarkDatabase } from "./time-travel.ts";
import type { World } from "./world.ts";

/** The id of the webhook that {@link prepared} stores. */
const webhookId = ({ siteId }: World) => `wh_of_${siteId}`;
const webhook = (world: World) => `/admin/sites/${world.siteId}/webhooks/${webhookId(world)}`;

/** The id of the refused call that {@link prepared} stores, made at NOW. */
const requestId = ({ siteId }: World) => `01a3185c-5000-7000-8000-${String(siteId).padStart(12, "0")}`;

/**
 * The id of the token that {@link prepared} stores. Test files share a database, and the tests of the token list use the ids
 * `tok_0…`.
 */
const tokenId = ({ siteId }: World) => `tok_f${String(siteId).padStart(31, "0")}`;

/** The id of the person that {@link prepared} stores. */
const personId = ({ siteId }: World) => `per_f${String(siteId).padStart(31, "0")}`;

/** Stores what the samples below need: a webhook, one session with its event, a refused call, a token, and a person with a session. */
export async function prepared(world: World): Promise<World> {
  await newWebhook(world, { id: webhookId(world) });
  await world.chatId();
  await newRefusal(world, { requestId: requestId(world) });
  await newToken({ id: tokenId(world) });
  await newPerson({ id: personId(world) });
  await newConsoleSession({ whoKind: "person", whoId: personId(world), whoName: "Mei" });
  return world;
}

export interface Sample {
  body?: unknown;
  /** Runs before the call, after {@link prepared}. */
  before?: (world: World) => Promise<unknown>;
  bindings?: ReplacedBindings;
  /** The status of a refused call that still writes an audit row. Without it, the call must succeed. */
  status?: number;
}

const NEWER_KEY = Uint8Array.fromBase64(env.MASTER_KEY).toReversed().toBase64();

/** Samples of the calls whose documented examples do not cause every audit row that the call can write. */
const OWN_SAMPLES: Partial<Record<AdminCallId, [Sample, ...Sample[]]>> = {
  createSite: [{ body: { name: "Another" } }],
  changeSite: [
    { body: { name: "Renamed", status: "closed", events: false } },
    {
      body: { status: "open", events: true },
      before: (world) => world.admin("PATCH", `/admin/sites/${world.siteId}`, { status: "closed", events: false }),
    },
    { body: { first_chat_id: 900_220, retention_days: 30 } },
  ],
  deleteSite: [
    {
      body: { name: "Site" },
      before: (world) => world.admin("PATCH", `/admin/sites/${world.siteId}`, { name: "Site", status: "closed" }),
    },
  ],
  issueApp: [{ body: { name: "Another" } }, { body: { name: "Another", secret: "brought-along" } }],
  rotateSecret: [
    { body: { overlap_seconds: 60 } },
    { before: (world) => world.admin("POST", `/admin/apps/${world.appid}/end-overlap`) },
  ],
  endOverlap: [{ body: {}, before: (world) => world.admin("POST", `/admin/apps/${world.appid}/rotate`) }, {}],
  revokeApp: [
    {},
    { before: ({ home, appid }) => databaseOf(home).prepare("DELETE FROM apps WHERE appid = ?").bind(appid).run() },
  ],
  resealSecrets: [
    {},
    { bindings: { MASTER_KEY: NEWER_KEY, MASTER_KEY_PREVIOUS: env.MASTER_KEY } },
    // All other calls use the older key.
    { bindings: { MASTER_KEY: env.MASTER_KEY, MASTER_KEY_PREVIOUS: NEWER_KEY } },
  ],
  changeAgent: [
    { body: { name: "Renamed", status: "disabled" } },
    {
      body: { status: "normal" },
      before: (world) => world.admin("PATCH", `/admin/sites/${world.siteId}/agents/1`, { status: "disabled" }),
    },
  ],
  settleRestoredHome: [
    { body: { lift: 1, force: true } },
    {
      body: { lift: 1, force: true },
      before: async (world) => {
        const travelBack = await bookmarkDatabase(databaseOf("main"));
        const { sbs } = world.createBody();
        await world.admin("POST", `/admin/sites/${world.siteId}/customers/erase`, { sbs });
        await travelBack();
      },
    },
    {
      body: { lift: 1, force: true },
      before: async (world) => {
        const travelBack = await bookmarkDatabase(databaseOf("main"));
        const site = `/admin/sites/${world.siteId}`;
        await world.admin("PATCH", site, { name: "Site", status: "closed" });
        await world.admin("DELETE", site, { name: "Site" });
        await travelBack();
      },
    },
  ],
  addPerson: [{ body: { name: "Mei", role: "operator" } }],
  createToken: [{ body: { name: "Nightly export", role: "operator" } }],
  addWebhook: [
    {
      body: { url: "https://hooks.example.com/" },
      before: async (world) => {
        await world.admin("DELETE", webhook(world));
        await world.admin("PATCH", `/admin/sites/${world.siteId}`, { events: false });
      },
    },
  ],
  changeWebhook: [
    { body: { events: ["session.created"] } },
    { body: { status: "disabled" } },
    {
      body: { status: "enabled" },
      before: (world) => world.admin("PATCH", webhook(world), { status: "disabled" }),
    },
  ],
  rotateWebhookSecret: [
    { body: { overlap_seconds: 60 } },
    { before: (world) => world.admin("POST", `${webhook(world)}/end-overlap`) },
  ],
  endWebhookOverlap: [{ body: {}, before: (world) => world.admin("POST", `${webhook(world)}/rotate`) }, {}],
  redeliverEvents: [{ body: { status: ["pending"] } }, {}],
};

/** Samples of a call. Together they cause every audit row that the call can write. */
export function samplesOf(id: AdminCallId): readonly [Sample, ...Sample[]] {
  const { body } = ADMIN_DOCUMENTATION[id]();
  return OWN_SAMPLES[id] ?? [body === undefined ? {} : { body: documentedExample(adminSchemas[body.name] ?? {}) }];
}

/** The path of a call, with the ids of what {@link prepared} stores. `parameters` replaces some of them. */
export function pathOf(
  { path }: Pick<AdminCall, "path">,
  world: World,
  parameters: Record<string, string> = {},
): string {
  const { siteId, appid } = world;
  const ours: Record<string, string | number> = {
    site_id: siteId,
    appid,
    id: 1,
    chat_id: 1,
    webhook_id: webhookId(world),
    seq: 1,
    name: "main",
    request_id: requestId(world),
    token_id: tokenId(world),
    person_id: personId(world),
    ...parameters,
  };
  return `/admin${path.replaceAll(/:(\w+)/g, (_, name: string) => {
    if (ours[name] === undefined) throw new Error(`the parameter ${name} of ${path} has no value here`);
    return String(ours[name]);
  })}`;
}

const LAST: AdminCallId[] = [
  "eraseCustomer",
  "deleteToken",
  "endPerson",
  "deleteWebhook",
  "addWebhook",
  "revokeApp",
  "settleRestoredHome",
  "deleteSite",
];

/**
 * Every call of the admin API with its first sample, in an order in which one world can make them all. Calls that delete come last.
 */
export const CALLS = ADMIN_CALLS.toSorted(
  (a, b) => LAST.indexOf(a.id) - LAST.indexOf(b.id) || Number(a.method !== "get") - Number(b.method !== "get"),
).map((call) => {
  const method = call.method.toUpperCase();
  const path = (world: World, parameters?: Record<string, string>) => pathOf(call, world, parameters);
  const [{ body, before }] = samplesOf(call.id);
  return { ...call, name: `${method} /admin${call.path}`, method, path, body, before };
});

/** The answers over all homes when only the directory's database is down: they name it and have the other homes' entries. */
export const MAIN_DOWN: Record<string, Record<string, unknown>> = {
  "POST /admin/reseal": {
    resealed: 0,
    remaining: 0,
    unopened: 0,
    unopened_apps: [],
    unopened_webhooks: [],
    homes_down: ["main"],
  },
  // Tests of another file may have left rows in the other homes.
  "GET /admin/audit": {
    items: expect.any(Array),
    next_cursor: expect.toBeOneOf([null, expect.any(String)]),
    homes_down: ["main"],
  },
};

export interface AdminAnswer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** Calls the admin API and reads the answer: JSON, a list of it for an export, or undefined without a body. */
export async function call(world: World, method: string, path: string, body?: unknown): Promise<AdminAnswer> {
  return read(await world.admin(method, path, body));
}

export async function read(response: Response): Promise<AdminAnswer> {
  const media = response.headers.get("content-type") ?? "";
  const isLines = media === "application/x-ndjson";
  const isMetrics = media.startsWith("application/openmetrics-text");
  // workerd warns about `text()` when the media type is not text.
  const text = isLines || isMetrics ? new TextDecoder().decode(await response.arrayBuffer()) : await response.text();
  const json = isLines ? `[${text.trim().replaceAll("\n", ",")}]` : isMetrics ? JSON.stringify(text) : text;
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : (JSON.parse(json) as unknown),
  };
}

/** Problem details with this status, and with the invalid fields if there are any. */
export function problem(status: number, title: string, errors?: { field: string; message: string }[]) {
  const detail = errors?.map(({ field, message }) => (field === "" ? message : `${field}: ${message}`)).join("; ");
  return {
    status,
    body: { type: "about:blank", title, status, detail: detail ?? expect.any(String), ...(errors && { errors }) },
  };
}

/** Problem details of a 409 with this reason. */
export function conflict(reason: string) {
  const { status, body } = problem(409, "Conflict");
  return { status, body: { ...body, reason } };
}
