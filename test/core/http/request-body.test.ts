import { beforeAll, describe, expect, it } from "vitest";
import { expectAccepted, expectUnwritten, INVALID_PARAMETERS, SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { type Body, hmac, World } from "../../support/world.ts";

const UNREADABLE = "not readable: longer than 80 characters, or not visible ASCII";
const LIMIT = 64 * 1024;
const encoder = new TextEncoder();
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

/** A body with one more member, as text, because JSON.stringify cannot write some of them. */
const withMember = (body: Body, member: string) => `${JSON.stringify(body).slice(0, -1)},${member}}`;

function join(...parts: (string | number[])[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...encoder.encode(part)] : part)));
}

async function sendBytes(world: World, operation: string, bytes: Uint8Array<ArrayBuffer>, headers: HeadersInit = {}) {
  const all = new Headers(headers);
  all.set("x-chat-signature", await hmac(world.secret, bytes));
  return world.sendRaw(operation, bytes, all);
}

describe.each(SIGNED_ROUTES)("the body of $operation", (route) => {
  const { operation, acceptable } = route;
  let world: World;
  beforeAll(async () => {
    world = await World.create();
  });
  const padded = async (length: number) => {
    const body = JSON.stringify(await acceptable(world));
    return join(body, " ".repeat(length - body.length));
  };

  it.each([
    ["with its length announced", { "content-length": String(LIMIT) }],
    ["without", {}],
  ])("a body may be 64 KiB long, %s", async (_, headers) => {
    const bytes = await padded(LIMIT);
    await expectAccepted(world, route, () => sendBytes(world, operation, bytes, headers as HeadersInit));
  });

  it.each([
    ["with its length announced", { "content-length": String(LIMIT + 1) }],
    ["without", {}],
  ])("a body may not be a byte longer than 64 KiB, %s", async (_, headers) => {
    const bytes = await padded(LIMIT + 1);
    const act = () => sendBytes(world, operation, bytes, headers as HeadersInit);
    const { status, envelope } = await expectUnwritten(world, act);
    expect({ status, envelope }).toEqual({ status: 413, envelope: INVALID_PARAMETERS });
  });

  it("reading a body stops as soon as it is too long, even if it never ends", async () => {
    let pulls = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulls += 1;
          controller.enqueue(new Uint8Array(1_000).fill(0x20));
        },
        cancel() {
          cancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    const { status, envelope } = await world.sendRaw(operation, endless);
    expect({ status, envelope }).toEqual({ status: 413, envelope: INVALID_PARAMETERS });
    expect(pulls).toBe(66);
    expect(cancelled).toBe(true);
  });

  it("a body is joined from its chunks, even where they cut a character", async () => {
    const bytes = join(withMember(await acceptable(world), '"note":"漢👍"'));
    const signature = await hmac(world.secret, bytes);
    const chunks = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    await expectAccepted(world, route, () => world.sendRaw(operation, chunks, { "x-chat-signature": signature }));
  });

  it.each([
    "application/json",
    "APPLICATION/JSON",
    "application/json;charset=utf-8",
    "Application/Json ; charset=gbk; x=y",
    "application/json, application/json",
    "application/json; charset=utf-8, application/json",
    "application/json,APPLICATION/JSON;charset=utf-8\t,\tapplication/json",
    'application/json; x="a,b\\", text/plain"; y=z',
    'application/json; charset="utf-8',
    'application/json; charset=utf-8", application/json',
    "application/json,",
    ", ,application/json; charset=utf-8, ",
  ])("a body is accepted as %s", async (type) => {
    const bytes = join(JSON.stringify(await acceptable(world)));
    await expectAccepted(world, route, () => sendBytes(world, operation, bytes, { "content-type": type }));
  });

  it.each([
    ["", "missing"],
    ["text/plain", "text/plain"],
    ["application/json, text/plain", "application/json, text/plain"],
    ["application/json;charset=utf-8,text/plain", "application/json,text/plain"],
    ['application/json; x="a", TEXT/Plain;y="b"', "application/json, TEXT/Plain"],
    ["; charset=utf-8", "missing"],
    [",", ","],
    ["application/jsonp", "application/jsonp"],
    ["application/json charset=utf-8", "application/json charset=utf-8"],
    ["json", "json"],
    ["*/*", "*/*"],
    ['"application/json"', '"application/json"'],
    ['application/json, "x"', 'application/json, "x"'],
    ["x".repeat(80), "x".repeat(80)],
    ["x".repeat(81), UNREADABLE],
    ["application/json\u00e9", UNREADABLE],
    ["application/json\tx", UNREADABLE],
  ])("a body is 415 as %j, and the detail says what was sent: %s", async (type, typeText) => {
    const bytes = join(JSON.stringify(await acceptable(world)));
    const { status, headers } = await expectUnwritten(world, () =>
      sendBytes(world, operation, bytes, { "content-type": type }),
    );
    expect([status, headers.get("x-error-detail")]).toEqual([
      415,
      `Content-Type: must be application/json, and is ${typeText}`,
    ]);
  });

  it.each<[string, (body: string) => Uint8Array<ArrayBuffer>]>([
    ["a byte order mark", (body) => join([0xef, 0xbb, 0xbf], body)],
    ["a byte that is not UTF-8", (body) => join(body.slice(0, -1), ',"x":"', [0xff], '"}')],
    ["an overlong form", (body) => join(body.slice(0, -1), ',"x":"', [0xc0, 0xaf], '"}')],
    ["a surrogate in UTF-8", (body) => join(body.slice(0, -1), ',"x":"', [0xed, 0xa0, 0x80], '"}')],
    ["a character cut short", (body) => join(body.slice(0, -1), ',"x":"', [0xe6, 0xbc], '"}')],
    ["UTF-16", (body) => Uint8Array.from(body.split("").flatMap((unit) => [unit.charCodeAt(0), 0]))],
    ["an array", (body) => join(`[${body}]`)],
    ["a string", (body) => join(JSON.stringify(body))],
    ["null", () => join("null")],
    ["a number", () => join("1")],
    ["two objects", (body) => join(body, body)],
    ["a trailing comma", (body) => join(body.slice(0, -1), ",}")],
    ["a comment", (body) => join(body, "// done")],
    ["a raw line break in a string", (body) => join(body.slice(0, -1), ',"x":"\n"}')],
    ["a NaN", (body) => join(body.slice(0, -1), ',"x":NaN}')],
    ["30,000 closed brackets", () => join(nested(30_000))],
    ["30,000 open brackets", () => join("[".repeat(30_000))],
  ])("a body is 参数错误 with %s, signed or not", async (_, damage) => {
    const bytes = damage(JSON.stringify(await acceptable(world)));
    for (const act of [() => sendBytes(world, operation, bytes), () => world.sendRaw(operation, bytes)]) {
      const { status, envelope, headers } = await expectUnwritten(world, act);
      expect({ status, envelope }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
      expect(headers.get("x-error-detail")).toMatch(/^(body|appid): must /);
    }
  });

  it.each([
    ["any value", '"x":{"appid":"other","sbs":1.5,"chat_id":-1}'],
    ["the name __proto__", '"__proto__":{"appid":"other","sbs":"x","chat_id":-1,"ranstr":7}'],
    ["the name constructor", '"constructor":{"prototype":{}}'],
    ["the name toString", '"toString":1,"valueOf":2,"hasOwnProperty":3'],
    ["an empty name", '"":""'],
    ["a lone surrogate", '"x":"\\ud800"'],
    ["brackets, 1,000 deep", `"x":${nested(1_000)}`],
  ])("a body may have an unknown field with %s, which is ignored", async (_, member) => {
    const bytes = join(withMember(await acceptable(world), member));
    await expectAccepted(world, route, () => sendBytes(world, operation, bytes));
    expect(Object.prototype).not.toHaveProperty("appid");
  });

  it("a body gives no fields through __proto__", async () => {
    const { appid, ...fields } = await acceptable(world);
    const bytes = join(`{"appid":${JSON.stringify(appid)},"__proto__":${JSON.stringify(fields)}}`);
    const { status, headers } = await expectUnwritten(world, () => sendBytes(world, operation, bytes));
    expect(status).toBe(400);
    expect(headers.get("x-error-detail")).toBe("timestamp: is required; ranstr: is required");
  });

  it("the last of two fields with one name counts", async () => {
    const body = await acceptable(world);
    const twice = join(withMember(body, '"timestamp":1'));
    const { headers } = await expectUnwritten(world, () => sendBytes(world, operation, twice));
    expect(headers.get("x-error-detail")).toMatch(/^timestamp: must be within/);
    const last = join(`{"timestamp":1,"ranstr":null,${JSON.stringify(body).slice(1)}`);
    await expectAccepted(world, route, () => sendBytes(world, operation, last));
  });
});

describe("a body that is cut off", () => {
  it("a body that is cut off is the caller's fault and no outage, whichever error the runtime gives", async () => {
    const world = await World.create();
    const sendCutOff = (length: Record<string, string>) => {
      const body = new ReadableStream({
        pull(controller) {
          controller.error(new Error("Network connection lost."));
        },
      });
      const headers = { "content-type": "application/json", "x-chat-signature": "0".repeat(64), ...length };
      return world.fetch(new Request("http://worker/openapi/chat/create_gd", { method: "POST", headers, body }));
    };
    for (const length of [{}, { "content-length": "100" }]) {
      const answer = await sendCutOff(length);
      expect([answer.status, await answer.json()]).toEqual([400, INVALID_PARAMETERS]);
    }
  });
});

describe("the body of create_gd with a numeric sbs", () => {
  it("create_gd with a numeric sbs and 30,000 closed brackets gets an answer of the contract", async () => {
    const world = await World.create();
    const deep = withMember(world.createBody({ sbs: 1001 }), `"x":${nested(30_000)}`);
    const { status, envelope } = await world.send("create_gd", deep);
    expect([200, 400]).toContain(status);
    expect(envelope).toEqual(status === 200 ? expect.objectContaining({ code: 1 }) : INVALID_PARAMETERS);
    expect((await world.create({ sbs: 1001 })).status).toBe(200);
    expect((await world.stored()).sessions).toHaveLength(status === 200 ? 2 : 1);
  });
});
