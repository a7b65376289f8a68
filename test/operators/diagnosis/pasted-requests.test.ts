import { beforeAll, describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { checkAsCaller } from "../../../src/operators/diagnosis/check-as-caller.ts";
import { english, sentenceOf } from "../../../src/operators/diagnosis/words.ts";
import { PASTED_REQUESTS, type RightRequest, type SentRequest } from "../../support/pasted-requests.ts";
import { World } from "../../support/world.ts";

let world: World;
let right: RightRequest;
beforeAll(async () => {
  world = await World.create();
  const chatId = await world.chatId();
  right = {
    appid: world.appid,
    secret: world.secret,
    now: world.clock.now,
    create: (change) => world.createBody(change),
    add: (change) => world.addBody(chatId, change),
  };
});

const bytesOf = ({ body }: SentRequest) =>
  typeof body === "string" ? Uint8Array.from(new TextEncoder().encode(body)) : body;

/** Sends exactly these bytes and headers. */
async function send(sent: SentRequest) {
  const headers = new Headers();
  const sentHeaders = {
    "content-type": "application/json",
    "x-chat-signature": sent.signature ?? null,
    ...sent.headers,
  };
  for (const [name, value] of Object.entries(sentHeaders)) if (value !== null) headers.set(name, value);
  const url = `http://worker/openapi/chat/${sent.operation ?? "create_gd"}`;
  const answer = await world.fetch(new Request(url, { method: "POST", headers, body: bytesOf(sent) }));
  const { msg } = await answer.json<{ msg: string }>();
  return { status: answer.status, message: msg, detail: answer.headers.get("x-error-detail") };
}

function check(sent: SentRequest) {
  const { "content-type": contentType = "application/json", ...headers } = sent.headers ?? {};
  return checkAsCaller({
    operation: OPERATIONS.find(({ wireName }) => wireName === (sent.operation ?? "create_gd")),
    operations: OPERATIONS,
    body: bytesOf(sent),
    signature: sent.signature ?? "",
    secret: right.secret,
    appid: right.appid,
    contentType,
    contentEncoding: headers["content-encoding"] ?? null,
    idempotencyKey: headers["idempotency-key"] ?? null,
    now: world.clock.now,
    tolerance: 300,
  });
}

describe("the check of a caller's own request", () => {
  it("the check of a caller's own request is tried with at least 105 requests, each with its own name", () => {
    expect(PASTED_REQUESTS.length).toBeGreaterThanOrEqual(105);
    expect(new Set(PASTED_REQUESTS.map(({ name }) => name)).size).toBe(PASTED_REQUESTS.length);
  });

  it.each(PASTED_REQUESTS)(
    "the check of a caller's own request gives the server's answer and the cause: $name",
    async ({ cause, make }) => {
      const sent = await make(right);
      const { answer, steps } = await check(sent);
      const { detail, ...real } = await send(sent);
      expect({ status: answer.status, message: answer.message }).toEqual(real);
      const [first] = steps;
      expect(first?.refusal === undefined ? "accepted" : first.name).toBe(cause);
      if (first?.name === "fields_wrong" || first?.name === "freshness_form")
        expect(sentenceOf(english, first)).toBe(detail);
      expect(JSON.stringify(steps)).not.toContain(right.secret);
    },
  );
});
