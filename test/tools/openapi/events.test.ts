import { afterEach, describe, expect, it, vi } from "vitest";
import { EVENT_TYPES } from "../../../src/operators/services/webhooks.ts";
import { openApiDocument } from "../../../src/tools/openapi/document.ts";
import type { JsonSchema } from "../../../src/tools/openapi/json-schema.ts";
import { call } from "../../support/admin-calls.ts";
import { DeliveringWorker } from "../../support/deliveries.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { added } from "../../support/webhook-store.ts";
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

const named = ({ $ref }: JsonSchema) => schemas[String($ref).split("/").at(-1) ?? ""] ?? {};
const fieldsOf = (schema: JsonSchema) => Object.keys(schema.properties ?? {});
const dataOf = (type: string) => {
  const { schema } = webhooks[type]?.post.requestBody.content["application/json"] ?? { schema: {} };
  return named(named(schema).properties?.data ?? {});
};

describe("the webhooks of openapi.json", () => {
  it("the webhooks of openapi.json are all types that a webhook can get, and the ping", () => {
    expect(Object.keys(webhooks)).toEqual([...EVENT_TYPES, "ping"]);
  });

  it("the webhooks of openapi.json have the fields of real events, in order", async () => {
    const world = await World.create();
    const { id } = await added(world);
    const [gone, failing] = [await newWebhook(world), await newWebhook(world)];
    for (const { operation, acceptable } of SIGNED_ROUTES) {
      expect((await world.send(operation, await acceptable(world))).status).toBe(200);
    }
    const listed = async (after: number) => {
      const { body } = await call(world, "GET", `/admin/sites/${world.siteId}/events?after=${after}`);
      return (body as { items: { seq: number; type: string; data: Record<string, unknown> }[] }).items;
    };
    const called = await listed(0);
    const sbs = called.map(({ data }) => (data.customer as { sbs: string } | undefined)?.sbs)[0];
    const erased = await call(world, "POST", `/admin/sites/${world.siteId}/customers/erase`, { sbs });
    expect(erased.status).toBe(200);
    const worker = new DeliveringWorker();
    worker.receiver = ({ url }) => new Response(null, { status: url === gone.url ? 410 : 500 });
    await worker.deliver(gone);
    await worker.deliver(failing);
    worker.clock.now += 300;
    await worker.scheduled("* * * * *");
    await call(world, "POST", `/admin/sites/${world.siteId}/webhooks/${id}/ping`);
    const items = [...called, ...(await listed(called.at(-1)?.seq ?? 0))];
    expect(items.map(({ type }) => type)).toEqual(Object.keys(webhooks));
    for (const { type, data } of items) {
      expect([type, Object.keys(data)]).toEqual([type, fieldsOf(dataOf(type))]);
      expect(dataOf(type)).toMatchObject({ required: Object.keys(data), additionalProperties: false });
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
    expect(fieldsOf(named(schema))).toEqual(["type", "timestamp", "data"]);
    expect(example).toMatchObject({ type, data: { seq: expect.any(Number) } });
    expect(Object.keys(example.data as object)).toEqual(fieldsOf(dataOf(type)));
  });

  it("the webhooks of openapi.json have different operationIds", () => {
    const ids = Object.values(webhooks).map(({ post }) => post.operationId);
    expect(ids).toEqual(expect.arrayContaining(["onSessionCreated", "onSessionAgentsAdded", "onPing"]));
    expect(new Set(ids).size).toBe(Object.keys(webhooks).length);
  });
});
