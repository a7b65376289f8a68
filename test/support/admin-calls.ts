import { expect } from "vitest";
import { newWebhook } from "./new-webhook.ts";
import type { World } from "./world.ts";

/** The id of the webhook that {@link prepared} stores. */
const webhookId = ({ siteId }: { siteId: number }) => `wh_of_${siteId}`;
const webhook = ({ siteId }: World) => `/admin/sites/${siteId}/webhooks/${webhookId({ siteId })}`;

/** Stores what the calls below need: a webhook, and one event of the site. */
export async function prepared(world: World): Promise<World> {
  await newWebhook(world, { id: webhookId(world) });
  await world.chatId();
  return world;
}

/** Every call of the admin API, as paths of a world. */
export const ADMIN_CALLS: [method: string, path: (world: World) => string, body?: unknown][] = [
  ["POST", () => "/admin/sites", { name: "Another" }],
  ["GET", () => "/admin/sites"],
  ["PATCH", ({ siteId }) => `/admin/sites/${siteId}`, { name: "Renamed" }],
  ["POST", ({ siteId }) => `/admin/sites/${siteId}/apps`, { name: "Another" }],
  ["GET", ({ siteId }) => `/admin/sites/${siteId}/apps`],
  ["POST", ({ appid }) => `/admin/apps/${appid}/rotate`, { overlap_seconds: 60 }],
  ["POST", () => "/admin/reseal"],
  ["POST", ({ siteId }) => `/admin/sites/${siteId}/agents`, { id: 99, name: "Another" }],
  ["PATCH", ({ siteId }) => `/admin/sites/${siteId}/agents/1`, { name: "Renamed" }],
  ["GET", ({ siteId }) => `/admin/sites/${siteId}/agents`],
  ["GET", ({ siteId }) => `/admin/sites/${siteId}/sessions`],
  ["GET", ({ siteId }) => `/admin/sites/${siteId}/events`],
  ["POST", ({ siteId }) => `/admin/sites/${siteId}/webhooks`, { url: "https://hooks.example.com/" }],
  ["GET", ({ siteId }) => `/admin/sites/${siteId}/webhooks`],
  ["PATCH", webhook, { events: ["session.created"] }],
  ["POST", (world) => `${webhook(world)}/rotate`, { overlap_seconds: 60 }],
  ["POST", (world) => `${webhook(world)}/ping`],
  ["GET", (world) => `${webhook(world)}/deliveries`],
  ["POST", (world) => `${webhook(world)}/deliveries/1/redeliver`],
  ["DELETE", webhook],
  ["GET", () => "/admin/audit"],
  ["GET", () => "/admin/homes"],
  ["POST", () => "/admin/homes/main/restored", { lift: 1, force: true }],
  ["GET", () => "/admin/homes/main/divergent"],
  ["DELETE", ({ appid }) => `/admin/apps/${appid}`],
];

/**
 * What the calls over all homes answer when only the directory's database is down: what the other homes have, and which one gave
 * nothing.
 */
export const MAIN_DOWN: Record<string, Record<string, unknown>> = {
  "POST /admin/reseal": {
    ...{ resealed: 0, remaining: 0, unopened: 0 },
    ...{ unopened_apps: [], unopened_webhooks: [], homes_down: ["main"] },
  },
  "GET /admin/audit": { items: [], next_cursor: null, homes_down: ["main"] },
};

export interface AdminAnswer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** Calls the admin API and reads the answer, JSON or nothing. */
export async function call(world: World, method: string, path: string, body?: unknown): Promise<AdminAnswer> {
  return read(await world.admin(method, path, body));
}

export async function read(response: Response): Promise<AdminAnswer> {
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
  };
}

/** Problem details of one status, with these bad fields if any. */
export function problem(status: number, title: string, errors?: { field: string; message: string }[]) {
  const detail = errors?.map(({ field, message }) => (field === "" ? message : `${field}: ${message}`)).join("; ");
  return {
    status,
    body: { type: "about:blank", title, status, detail: detail ?? expect.any(String), ...(errors && { errors }) },
  };
}
