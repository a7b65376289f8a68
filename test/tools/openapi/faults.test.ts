import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { version } from "../../../package.json";
import { openApiDocument } from "../../../src/tools/openapi/document.ts";
import { Isolate } from "../../support/isolate.ts";
import { replacing } from "../../support/replacing.ts";
import { SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { World } from "../../support/world.ts";

/** The documented answers when a database does not answer. test/e2e/openapi.test.ts tests all other answers. */

const document = openApiDocument(version);
const { responses } = document.components;
const fail = () => Promise.reject(new Error("D1_ERROR: Network connection lost."));
const silent = replacing(env.DB, {
  batch: fail,
  prepare: () => {
    const statement = { bind: () => statement, first: fail, all: fail, run: fail, raw: fail };
    return statement;
  },
});

const exampleOf = (response: unknown) => {
  const [content] = Object.values((response as { content: Record<string, Record<string, unknown>> }).content);
  const { unavailable } = (content?.examples ?? {}) as { unavailable?: { value: unknown } };
  return unavailable?.value ?? content?.example;
};

test.each(SIGNED_ROUTES)(
  "$operation answers the documented 503 when D1 does not answer",
  async ({ operation, acceptable }) => {
    const world = await World.create({ DB: silent });
    const { status, headers, envelope } = await world.send(operation, await acceptable(world));
    expect([status, envelope]).toEqual([503, exampleOf(responses.unavailable)]);
    expect(
      (document.paths as unknown as Record<string, { post: object }>)[`/openapi/chat/${operation}`]?.post,
    ).toHaveProperty("responses.503");
    expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(headers.get("x-request-id")).not.toBeNull();
  },
);

test("the admin API answers the documented 503 when D1 does not answer", async () => {
  const world = await World.create({ DB: silent });
  const calls = [
    ["GET", "/admin/sites", undefined],
    ["POST", "/admin/sites", { name: "x" }],
    ["GET", `/admin/sites/${world.siteId}/sessions`, undefined],
    ["GET", `/admin/sites/${world.siteId}/events`, undefined],
    ["POST", `/admin/sites/${world.siteId}/webhooks`, { url: "https://hooks.example.com/" }],
    ["POST", `/admin/sites/${world.siteId}/webhooks/wh/ping`, undefined],
    ["POST", `/admin/apps/${world.appid}/rotate`, {}],
    ["GET", "/admin/homes", undefined],
    ["POST", "/admin/homes/main/restored", { force: true }],
    ["GET", "/admin/homes/main/divergent", undefined],
  ] as const;
  // The calls are sent at the same time, because each waits for its second try.
  const checks = calls.map(async ([method, path, body]) => {
    const answer = await world.admin(method, path, body);
    const problem = {
      ...(exampleOf(responses.problem_503) as object),
      // Texts of other refusals tell operators to use this call.
      ...(path === "/admin/homes" && {
        detail: "The directory, which is in the home main, does not answer or is not migrated.",
      }),
    };
    expect([path, answer.status, await answer.json()]).toEqual([path, 503, problem]);
    expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
  });
  await Promise.all(checks);
});

test("the audit log answers with the entries of the other homes when one home does not answer, as documented", async () => {
  const world = await World.create({ DB: silent }, "apac");
  const answer = await world.admin("GET", "/admin/audit");
  const { items, homes_down } = await answer.json<{ items: { home: string }[]; homes_down: string[] }>();
  expect([answer.status, homes_down, new Set(items.map(({ home }) => home))]).toEqual([
    200,
    ["main"],
    new Set(["apac"]),
  ]);
  expect(document.components.schemas.AuditPage?.required).toContain("homes_down");
});

test("health answers the documented 503 when a setting is wrong", async () => {
  const answer = await new Isolate({ MASTER_KEY: undefined }).fetch(new Request("http://worker/healthz"));
  expect([answer.status, await answer.json()]).toEqual([503, exampleOf(document.paths["/healthz"].get.responses[503])]);
});
