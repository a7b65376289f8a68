import { afterEach, describe, expect, it, vi } from "vitest";
import { SESSION_EVENT_TYPES } from "../../../src/core/operations/index.ts";
import { OWN_EVENT_TYPES, type OwnEventType, PING } from "../../../src/core/store/event-schema.ts";
import { EVENT_TYPES } from "../../../src/operators/services/webhooks.ts";
import { openApiDocument } from "../../../src/tools/openapi/document.ts";
import type { JsonSchema } from "../../../src/tools/openapi/json-schema.ts";
import { call } from "../../support/admin-calls.ts";
import { DeliveringWorker } from "../../support/deliveries.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { addWebhook, eventStore, keepingQueue } from "../../support/webhook-store.ts";
import { World } from "../../support/world.ts";

afterEach(() => vi.unstubAllGlobals());

const document = openApiDocument("1.0.0");
const schemas = document.components.schemas as Record<string, JsonSchema>;

interface Described {
  post: {
    operationId: string;
    parameters: { name: string; in: string; required: boolean; schema: JsonSchema; example: string }[];
    requestBody: { content: { "application/json": { schema: { $ref: string }; example: Record<string, unknown> } } };
    responses: object;
  };
}
const webhooks = document.webhooks as Record<string, Described>;

const targetOf = ({ $ref }: JsonSchema) => schemas[String($ref).split("/").at(-1) ?? ""] ?? {};
const fieldsOf = (schema: JsonSchema) => Object.keys(schema.properties ?? {});
const dataOf = (type: string) => {
  const { schema } = webhooks[type]?.post.requestBody.content["application/json"] ?? { schema: {} };
  return targetOf(targetOf(schema).properties?.data ?? {});
};

function isAsDocumented(type: string, data: object): void {
  expect([type, Object.keys(data)]).toEqual([type, fieldsOf(dataOf(type))]);
  expect(dataOf(type)).toMatchObject({ required: Object.keys(data), additionalProperties: false });
}

/** Makes a webhook of a site with one session fail. */
async function fail(world: World, worker: DeliveringWorker, status: number): Promise<void> {
  const webhook = await newWebhook(world);
  await world.chatId();
  worker.receiver = () => new Response(null, { status });
  await worker.deliver(webhook);
}

/** What brings about each event that no signed call leaves. */
const CAUSES: Record<OwnEventType, (world: World, worker: DeliveringWorker) => Promise<unknown>> = {
  "session.erased": async (world) => {
    await world.chatId({ sbs: "x" });
    return call(world, "POST", `/admin/sites/${world.siteId}/customers/erase`, { sbs: "x" });
  },
  "webhook.disabled": (world, worker) => fail(world, worker, 410),
  "webhook.failing": async (world, worker) => {
    await fail(world, worker, 500);
    worker.clock.now += 300;
    await worker.scheduled("* * * * *");
  },
};

describe("an event that no signed call leaves", () => {
  it.each(OWN_EVENT_TYPES)(
    "%s has the documented fields, and goes at once to the webhooks that ask for it",
    async (type) => {
      const { sent, EVENTS } = keepingQueue();
      const world = await World.create({ EVENTS }, "apac");
      const listener = await newWebhook(world, { events: JSON.stringify([type]) });
      await newWebhook(world, { events: JSON.stringify(["session.agents_added"]) });
      const worker = new DeliveringWorker();
      await CAUSES[type](world, worker);
      const { events, deliveries } = await eventStore(world);
      const own = events.filter((event) => event.type === type);
      expect(own).toHaveLength(1);
      for (const { data } of own) isAsDocumented(type, JSON.parse(String(data)));
      const due = deliveries.filter(({ seq }) => seq === own[0]?.seq);
      expect(due).toMatchObject([{ webhook_id: listener.id, status: "pending", attempts: 0 }]);
      expect([...sent, ...worker.notices].map(({ webhook }) => webhook)).toContain(listener.id);
    },
  );
});

describe("the webhooks of openapi.json", () => {
  it("the webhooks of openapi.json are all types that a webhook can get, and the ping", () => {
    expect(Object.keys(webhooks)).toEqual([...EVENT_TYPES, "ping"]);
  });

  it("the webhooks of openapi.json have the fields of the events of calls and of the ping, in order", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    for (const { operation, acceptable } of SIGNED_ROUTES) {
      expect((await world.send(operation, await acceptable(world))).status).toBe(200);
    }
    await call(world, "POST", `/admin/sites/${world.siteId}/webhooks/${id}/ping`);
    const { body } = await call(world, "GET", `/admin/sites/${world.siteId}/events?after=0`);
    const { items } = body as { items: { type: string; data: object }[] };
    expect(items.map(({ type }) => type)).toEqual([...SESSION_EVENT_TYPES, PING]);
    for (const { type, data } of items) isAsDocumented(type, data);
  });

  it("the pings of a drill have the fields of the ping in openapi.json, and the lowest seq that it allows", async () => {
    const world = await World.create();
    const { id } = await addWebhook(world);
    const worker = new DeliveringWorker();
    await call(world, "POST", `/admin/sites/${world.siteId}/webhooks/${id}/drill`);
    expect(worker.posted).toHaveLength(6);
    for (const { body } of worker.posted) {
      const { type, data } = JSON.parse(body) as { type: string; data: { seq: number } };
      isAsDocumented(type, data);
      expect([type, data.seq]).toEqual([PING, dataOf(PING).properties?.seq?.minimum]);
    }
  });

  it("the webhooks of openapi.json describe a new session in the words of the admin API", () => {
    expect(fieldsOf(dataOf("session.created"))).toEqual(["seq", "appid", ...fieldsOf(schemas.Session ?? {})]);
  });

  it.each(Object.entries(webhooks))("openapi.json describes the headers and the body of %s", (type, { post }) => {
    expect(post.parameters.map(({ name, in: where, required }) => [name, where, required])).toEqual([
      ["webhook-id", "header", true],
      ["webhook-timestamp", "header", true],
      ["webhook-signature", "header", true],
    ]);
    for (const { schema, example } of post.parameters) expect(example).toMatch(new RegExp(String(schema.pattern)));
    const { schema, example } = post.requestBody.content["application/json"];
    expect(fieldsOf(targetOf(schema))).toEqual(["type", "timestamp", "data"]);
    expect(example).toMatchObject({ type, data: { seq: expect.any(Number) } });
    expect(Object.keys(example.data as object)).toEqual(fieldsOf(dataOf(type)));
  });

  it("the webhooks of openapi.json have different operationIds", () => {
    const ids = Object.values(webhooks).map(({ post }) => post.operationId);
    expect(ids).toEqual(expect.arrayContaining(["onSessionCreated", "onSessionAgentsAdded", "onPing"]));
    expect(new Set(ids).size).toBe(Object.keys(webhooks).length);
  });
});
