import { beforeAll, describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../../src/core/operations/index.ts";
import { checkAsCaller } from "../../../../src/operators/diagnosis/check-as-caller.ts";
import { english, sentenceOf } from "../../../../src/operators/diagnosis/words.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import {
  PASTED_REQUESTS,
  type PastedRequest,
  type RightRequest,
  type SentRequest,
} from "../../../support/pasted-requests.ts";
import { checkSignature } from "../../../support/signature-check.ts";
import { addBody, type Body, createBody } from "../../../support/signed-bodies.ts";
import { NOW, World } from "../../../support/world.ts";

let world: World;
let visitor: ConsoleVisitor;
let right: RightRequest;
beforeAll(async () => {
  world = await World.create();
  visitor = await ConsoleVisitor.signedIn(world);
  const chatId = await world.chatId();
  right = {
    appid: world.appid,
    secret: world.secret,
    now: world.clock.now,
    create: (change) => world.createBody(change),
    add: (change) => world.addBody(chatId, change),
  };
});

/**
 * Whether a form can hold the request. A form cannot hold bytes that are not UTF-8, or absent and empty headers. It takes a
 * signature that begins with the header's name for a line of a log.
 */
const canBePasted = ({ body, signature = "", headers = {} }: SentRequest) =>
  typeof body === "string" &&
  body.isWellFormed() &&
  !/\0/.test(body + signature) &&
  !/^x-chat-signature/i.test(signature) &&
  headers["content-type"] !== null &&
  Object.values(headers).every((value) => value !== "");

async function send({ operation, body, signature, headers }: SentRequest) {
  const sentHeaders = { "content-type": "application/json", "x-chat-signature": signature ?? null, ...headers };
  const all = Object.fromEntries(
    Object.entries(sentHeaders).filter((each): each is [string, string] => each[1] !== null),
  );
  const answer = await world.sendRaw(operation ?? "create_gd", String(body), all);
  return { ...answer, detail: answer.headers.get("x-error-detail") };
}

/** The sentence that names the cause, from the callers' check of the same request with the right secret. */
async function causeOf({ operation, body, signature = "", headers = {} }: SentRequest) {
  const { steps } = await checkAsCaller({
    operation: OPERATIONS.find(({ wireName }) => wireName === (operation ?? "create_gd")),
    operations: OPERATIONS,
    body: Uint8Array.from(new TextEncoder().encode(String(body))),
    signature,
    secret: right.secret,
    appid: right.appid,
    now: world.clock.now,
    tolerance: 300,
    contentType: headers["content-type"] ?? "application/json",
    lineEndsKept: false,
    contentEncoding: headers["content-encoding"] ?? null,
    idempotencyKey: headers["idempotency-key"] ?? null,
  });
  const [first] = steps;
  return first?.refusal === undefined
    ? undefined
    : { step: first.step, name: first.name, text: sentenceOf(english, first) };
}

/**
 * All accepted requests, and the first refused one for each cause, call and set of headers. They are made for an app of no site,
 * to sort them. test/operators/diagnosis/pasted-requests.test.ts compares every request with its cause and the server's answer.
 */
async function oneOfEachKind() {
  const own = { appid: "shop", timestamp: NOW };
  const create = (change: Body = {}) => createBody(own, change);
  const nobody = {
    appid: "shop",
    secret: "0123456789abcdef",
    now: NOW,
    create,
    add: (change: Body = {}) => addBody(own, 1, change),
  };
  const kinds = new Map<string, PastedRequest>();
  for (const request of PASTED_REQUESTS) {
    const sentRequest = await request.make(nobody);
    if (!canBePasted(sentRequest)) continue;
    const kind = [request.cause.split("+")[0], sentRequest.operation, ...Object.keys(sentRequest.headers ?? {})].join();
    const key = request.cause === "accepted" ? request.name : kind;
    if (!kinds.has(key)) kinds.set(key, request);
  }
  return [...kinds.values()];
}

const ONE_OF_EACH_KIND = await oneOfEachKind();

describe("the signature check of a caller's request", () => {
  it.each(ONE_OF_EACH_KIND)("the signature check shows the server's answer and the cause: $name", async ({ make }) => {
    const sentRequest = await make(right);
    const { operation = "create_gd", body, signature = "", headers = {} } = sentRequest;
    const { answer, lines } = await checkSignature(visitor, {
      operation,
      body: String(body),
      signature,
      contentType: headers["content-type"] ?? "application/json",
      contentEncoding: headers["content-encoding"] ?? "",
      idempotencyKey: headers["idempotency-key"] ?? "",
    });
    const cause = await causeOf(sentRequest);
    const { status, envelope, detail } = await send(sentRequest);
    // The form changes line ends, so the page says with which of them the server accepts the request.
    if (!answer.includes("if its line ends are")) {
      const accepts = "Sent now, the server accepts this request";
      expect(answer).toBe(status === 200 ? accepts : `Sent now, the server answers ${status} ${envelope.msg}`);
    }
    if (cause === undefined || status === 200) return;
    const [about = "", { text = "" } = {}] = Object.entries(lines).find(([, { state }]) => state === "Cause") ?? [];
    if (cause.name === "fields_wrong" || cause.name === "freshness_form") expect(text).toContain(detail);
    else if (cause.step === "appid") expect(about).toBe("App");
    else if (cause.name === "no_match") expect(text).toContain("No secret of this app makes this signature");
    else expect(text).toContain(cause.text.replaceAll(/\s+/g, " "));
  });
});
