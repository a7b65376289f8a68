import { createContext, runInContext } from "node:vm";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import {
  type EventHeaders,
  EventVerificationError,
  type VerifyEventOptions,
  verifyEvent,
  type WebhookEvent,
} from "../../src/client/client.ts";

const SECRET = `whsec_${btoa("the secret of 32 bytes, for tests")}`;
const OTHER = `whsec_${btoa("another secret")}`;
const NOW = 1_800_000_000;
const ID = "evt_00000000000000000000000000000001";
const BODY =
  '{"type":"session.created","timestamp":"2027-01-15T08:00:00Z","data":{"seq":7,"chat_id":900220,"metadata":{"订单":"🙂"}}}';

/** The headers that the public package makes for a body. It signs without reading a clock. */
const signature = (text: string, { secret = SECRET, id = ID, at = NOW } = {}) =>
  new Webhook(secret).sign(id, new Date(at * 1000), text);

const headersOf = (change: Record<string, string> = {}): Record<string, string> => ({
  "webhook-id": ID,
  "webhook-timestamp": String(NOW),
  "webhook-signature": signature(BODY),
  ...change,
});

const verify = (
  headers: EventHeaders = headersOf(),
  body: Parameters<typeof verifyEvent>[1] = BODY,
  secret: string | string[] = SECRET,
  options: VerifyEventOptions = {},
) => verifyEvent(headers, body, secret, { now: NOW, ...options });

async function refusalOf(result: Promise<WebhookEvent>): Promise<{ code: string; message: string }> {
  const error = await result.then(() => expect.unreachable("it was accepted")).catch((thrown: unknown) => thrown);
  if (!(error instanceof EventVerificationError)) throw error;
  return { code: error.code, message: error.message };
}

const codeOf = async (result: Promise<WebhookEvent>) => (await refusalOf(result)).code;

describe("verifyEvent", () => {
  it("verifyEvent returns the event with the id of its header", async () => {
    const { type, timestamp, data } = JSON.parse(BODY);
    expect(await verify()).toEqual({ id: ID, type, timestamp, data });
  });

  it("verifyEvent returns events of a type that it does not know", async () => {
    const body = '{"type":"session.no_such_event","timestamp":"2027-01-15T08:00:00Z","data":{"seq":8,"by":1},"more":1}';
    const event = await verify(headersOf({ "webhook-signature": signature(body) }), body);
    expect(event).toMatchObject({ type: "session.no_such_event", data: { seq: 8, by: 1 } });
  });

  it("verifyEvent accepts the vector of the public specification, which is no event of this service", async () => {
    const headers = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const options = { now: 1_614_265_330 };
    expect(await codeOf(verifyEvent(headers, '{"test": 2432232314}', secret, options))).toBe("body_malformed");
    expect(await codeOf(verifyEvent(headers, '{"test": 2432232315}', secret, options))).toBe("signature_wrong");
  });

  it("verifyEvent accepts a known event: secret, bytes and signature", async () => {
    const body = '{"type":"ping","timestamp":"2027-01-15T08:00:00Z","data":{"seq":1,"webhook_id":"wh_1"}}';
    const headers = headersOf({ "webhook-signature": "v1,jnicZ2FcbdF5XYcz+VfqNZKVNctkVmoe1Bl+7lpQUNE=" });
    expect(await verify(headers, body, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")).toMatchObject({
      type: "ping",
      data: { webhook_id: "wh_1" },
    });
  });

  it("verifyEvent takes headers in the form of every platform", async () => {
    const lower = headersOf();
    const upper = Object.fromEntries(Object.entries(lower).map(([name, value]) => [name.toUpperCase(), value]));
    const lists = Object.fromEntries(Object.entries(lower).map(([name, value]) => [name, [value]]));
    const bare = Object.assign(Object.create(null) as Record<string, string>, lower);
    for (const headers of [lower, upper, lists, bare, new Headers(lower), new Map(Object.entries(lower))]) {
      expect((await verify(headers as EventHeaders)).type).toBe("session.created");
    }
  });

  it("verifyEvent takes a body as text or as bytes, and reads only a view's own bytes", async () => {
    const bytes = new TextEncoder().encode(BODY);
    const wider = new Uint8Array(bytes.length + 20).fill(120);
    wider.set(bytes, 10);
    const view = wider.subarray(10, 10 + bytes.length);
    for (const body of [BODY, bytes, bytes.buffer as ArrayBuffer, view, Buffer.from(BODY)]) {
      expect((await verify(headersOf(), body)).id).toBe(ID);
    }
  });

  /** A body for every kind of view: blanks at its end make the number of its bytes a multiple of eight. */
  const PADDED = BODY.padEnd(BODY.length + 8 - (new TextEncoder().encode(BODY).length % 8));
  const VIEWS = [
    "Int8Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "Int16Array",
    "Uint16Array",
    "Int32Array",
    "Uint32Array",
    "Float32Array",
    "Float64Array",
    "BigInt64Array",
    "BigUint64Array",
    "DataView",
  ] as const;

  it.each(["this realm", "another realm"])(
    "verifyEvent takes every kind of view and buffer of %s, and reads its own bytes",
    async (realm) => {
      const classes = realm === "this realm" ? globalThis : runInContext("globalThis", createContext({}));
      const headers = headersOf({ "webhook-signature": signature(PADDED) });
      const bytes = new TextEncoder().encode(PADDED);
      const buffer: ArrayBuffer = new classes.ArrayBuffer(bytes.length + 24);
      const whole: Uint8Array = new classes.Uint8Array(buffer).fill(120);
      whole.set(bytes, 16);
      for (const name of VIEWS) {
        const size = classes[name].BYTES_PER_ELEMENT ?? 1;
        const view = new classes[name](buffer, 16, bytes.length / size) as ArrayBufferView;
        expect([name, view instanceof globalThis[name]]).toEqual([name, realm === "this realm"]);
        expect([name, (await verify(headers, view, SECRET)).id]).toEqual([name, ID]);
        whole[16 + bytes.length - 1] = 33;
        expect([name, await codeOf(verify(headers, view, SECRET))]).toEqual([name, "signature_wrong"]);
        whole[16 + bytes.length - 1] = 32;
      }
      const own = buffer.slice(16, 16 + bytes.length);
      expect(own instanceof ArrayBuffer).toBe(realm === "this realm");
      expect((await verify(headers, own)).id).toBe(ID);
    },
  );

  it("verifyEvent reads shared memory once, and does not believe later writes to it", async () => {
    const bytes = new TextEncoder().encode(BODY);
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    const result = verify(headersOf(), shared);
    shared.fill(32);
    expect((await result).data).toEqual(JSON.parse(BODY).data);
  });

  it("verifyEvent accepts one right signature among several, in any order, beside those of other versions", async () => {
    const right = signature(BODY);
    const wrong = signature(BODY, { secret: OTHER });
    for (const several of [
      `${wrong} ${right}`,
      `${right} ${wrong}`,
      `v1a,${right.slice(3)} ${right}`,
      `v1, ${right}`,
    ]) {
      expect((await verify(headersOf({ "webhook-signature": several }))).id).toBe(ID);
    }
  });

  it("verifyEvent accepts any secret of a list, so that a receiver can change secrets without a gap", async () => {
    for (const list of [[SECRET], [OTHER, SECRET], [SECRET, OTHER]]) {
      expect((await verify(headersOf(), BODY, list)).id).toBe(ID);
    }
    expect(await codeOf(verify(headersOf(), BODY, [OTHER]))).toBe("signature_wrong");
  });
});

describe("verifyEvent refuses", () => {
  it.each(["webhook-id", "webhook-timestamp", "webhook-signature"])(
    "verifyEvent refuses a request without %s, or with an empty one",
    async (name) => {
      const { [name]: _, ...rest } = headersOf();
      for (const headers of [rest, { ...rest, [name]: "" }, { ...rest, [name]: undefined }, new Headers(rest)]) {
        expect(await refusalOf(verify(headers))).toEqual({ code: "headers_missing", message: `there is no ${name}` });
      }
    },
  );

  it("verifyEvent refuses an event that was sent more than 300 s ago, or more than 300 s in the future", async () => {
    for (const away of [-300, 0, 300])
      expect((await verify(headersOf(), BODY, SECRET, { now: NOW + away })).id).toBe(ID);
    expect(await refusalOf(verify(headersOf(), BODY, SECRET, { now: NOW + 301 }))).toEqual({
      code: "timestamp_out_of_range",
      message: "webhook-timestamp is 301 s behind this machine's clock, more than 300 s",
    });
    expect(await refusalOf(verify(headersOf(), BODY, SECRET, { now: NOW - 301 }))).toEqual({
      code: "timestamp_out_of_range",
      message: "webhook-timestamp is 301 s ahead of this machine's clock, more than 300 s",
    });
  });

  it("verifyEvent refuses an event by the caller's own tolerance", async () => {
    const at = (toleranceSeconds: number, away: number) =>
      verify(headersOf(), BODY, SECRET, { toleranceSeconds, now: NOW + away });
    expect((await at(10, 10)).id).toBe(ID);
    expect((await at(600, -600)).id).toBe(ID);
    expect((await at(0, 0.9)).id).toBe(ID);
    expect((await at(Number.POSITIVE_INFINITY, 1e9)).id).toBe(ID);
    for (const [tolerance, away] of [
      [10, 11],
      [10, -11],
      [0, 1],
      [-1, 0],
      [Number.NaN, 0],
    ] as const) {
      expect(await codeOf(at(tolerance, away))).toBe("timestamp_out_of_range");
    }
  });

  it("verifyEvent refuses an event by this machine's clock, or by the time that the caller gives", async () => {
    expect(await codeOf(verifyEvent(headersOf({ "webhook-timestamp": "1614265330" }), BODY, SECRET))).toBe(
      "timestamp_out_of_range",
    );
    const at = Math.floor(Date.now() / 1000);
    const headers = headersOf({ "webhook-timestamp": String(at), "webhook-signature": signature(BODY, { at }) });
    expect((await verifyEvent(headers, BODY, SECRET)).id).toBe(ID);
  });

  it.each(["soon", "-1", "1.8e9", " 1800000000", "1800000000.0", "0x6b49d200"])(
    "verifyEvent refuses the timestamp %j",
    async (text) => {
      expect(await codeOf(verify(headersOf({ "webhook-timestamp": text })))).toBe("timestamp_out_of_range");
    },
  );

  it("verifyEvent refuses a body, an id, a time or a secret other than the signed one", async () => {
    const wrong: Promise<WebhookEvent>[] = [
      verify(headersOf(), `${BODY}\n`),
      verify(headersOf(), JSON.stringify(JSON.parse(BODY), null, 1)),
      verify(headersOf({ "webhook-id": `${ID}x` })),
      verify(headersOf({ "webhook-timestamp": String(NOW + 1) })),
      verify(headersOf({ "webhook-timestamp": `0${NOW}` })),
      verify(headersOf(), BODY, OTHER),
    ];
    expect(await Promise.all(wrong.map(codeOf))).toEqual(wrong.map(() => "signature_wrong"));
  });

  it("verifyEvent refuses a signature that is cut, longer, of another version, or missing", async () => {
    const right = signature(BODY);
    const texts = [
      right.slice(0, -1),
      `${right}=`,
      right.slice(3),
      `v2,${right.slice(3)}`,
      `v1a,${right.slice(3)}`,
      right.toLowerCase(),
      right.replace(",", ""),
      "v1,",
      "v1",
      ",",
      " ",
      `v1,${btoa("\0".repeat(32))}`,
    ];
    for (const text of texts) {
      expect([text, await codeOf(verify(headersOf({ "webhook-signature": text })))]).toEqual([text, "signature_wrong"]);
    }
  });

  it.each(
    [
      "",
      "whsec_",
      "secret",
      SECRET.slice(6),
      "whsec_*",
      `${SECRET}*`,
      ` ${SECRET}`,
      `${SECRET}\n`,
      "whsec_A",
      undefined,
      null,
      7,
      {},
      [],
      [""],
      [SECRET, ""],
    ].map((secret) => ({ secret })),
  )("verifyEvent refuses the secret $secret, and does not repeat it", async ({ secret }) => {
    expect(await refusalOf(verifyEvent(headersOf(), BODY, secret as string, { now: NOW }))).toEqual({
      code: "secret_malformed",
      message: expect.stringMatching(/^(a secret is whsec_ and base64|the list holds no secret)$/),
    });
  });

  it("verifyEvent refuses a body that was parsed before, and text that bytes cannot give", async () => {
    const movedBytes = new TextEncoder().encode(BODY);
    structuredClone(movedBytes.buffer, { transfer: [movedBytes.buffer] });
    for (const body of [JSON.parse(BODY), undefined, null, 7, [1], "a\ud800b", movedBytes, movedBytes.buffer]) {
      expect(await refusalOf(verifyEvent(headersOf(), body, SECRET, { now: NOW }))).toEqual({
        code: "body_malformed",
        message: "give the raw body, text or bytes, before anything parses it",
      });
    }
  });

  it.each(["", "no JSON", "null", "7", "[]", "{}", '{"type":"ping","timestamp":"t","data":null}', `\ufeff${BODY}`])(
    "verifyEvent refuses a signed body that is not an event: %j",
    async (body) => {
      const headers = headersOf({ "webhook-signature": signature(body) });
      expect(await codeOf(verify(headers, body))).toBe("body_malformed");
    },
  );

  it("verifyEvent repeats no part of secret, body or signature in its refusals", async () => {
    const { message } = await refusalOf(verify(headersOf(), BODY, OTHER));
    for (const part of [OTHER.slice(6), BODY.slice(2, 20), signature(BODY).slice(3)])
      expect(message).not.toContain(part);
  });
});

describe("verifyEvent and the public package", () => {
  const secrets = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => `whsec_${bytes.toBase64()}`);
  const ids = fc.stringMatching(/^[\w-]{1,40}$/);
  const events = fc
    .record({
      type: fc.string({ unit: "grapheme" }),
      timestamp: fc.string(),
      data: fc.dictionary(fc.string(), fc.json()),
    })
    .map((event) => JSON.stringify(event))
    .filter((text) => text.isWellFormed());

  it("verifyEvent and the public package accept the same events, whatever their text", async () => {
    await fc.assert(
      fc.asyncProperty(secrets, ids, events, async (secret, id, body) => {
        const at = Math.floor(Date.now() / 1000);
        const headers = {
          "webhook-id": id,
          "webhook-timestamp": String(at),
          "webhook-signature": signature(body, { secret, id, at }),
        };
        const { id: eventId, ...event } = await verifyEvent(headers, body, secret);
        expect(eventId).toBe(id);
        expect(event).toEqual(JSON.parse(body));
        expect(new Webhook(secret).verify(body, headers)).toEqual(event);
      }),
    );
  });

  it("verifyEvent and the public package refuse the same requests, when any one character changed", async () => {
    const places = ["body", "webhook-id", "webhook-timestamp", "webhook-signature"] as const;
    const change = fc.record({ place: fc.constantFrom(...places), at: fc.nat(), by: fc.integer({ min: 1, max: 9 }) });
    await fc.assert(
      fc.asyncProperty(secrets, ids, events, change, async (secret, id, text, { place, at, by }) => {
        const now = Math.floor(Date.now() / 1000);
        const sent: Record<string, string> = {
          body: text,
          "webhook-id": id,
          "webhook-timestamp": String(now),
          "webhook-signature": signature(text, { secret, id, at: now }),
        };
        const before = sent[place] ?? "";
        const where = at % before.length;
        const code = before.charCodeAt(where);
        const other = place === "webhook-timestamp" ? 48 + ((code - 48 + by) % 10) : code === 120 ? 121 : 120;
        const { body = "", ...headers } = {
          ...sent,
          [place]: before.slice(0, where) + String.fromCharCode(other) + before.slice(where + 1),
        };
        await expect(verifyEvent(headers, body, secret)).rejects.toThrow(EventVerificationError);
        expect(() => new Webhook(secret).verify(body, headers)).toThrow();
      }),
    );
  });

  it("verifyEvent and the public package agree on what is text in the header of signatures", async () => {
    const at = Math.floor(Date.now() / 1000);
    const right = signature(BODY, { at });
    const parts = fc.constantFrom(right, "v1,", "v2,x", "v1,AAAA", right.slice(3), "");
    await fc.assert(
      fc.asyncProperty(fc.array(parts, { minLength: 1, maxLength: 5 }), async (list) => {
        const headers = headersOf({ "webhook-timestamp": String(at), "webhook-signature": list.join(" ") });
        const accepts = await verifyEvent(headers, BODY, SECRET).then(
          () => true,
          () => false,
        );
        let does = true;
        try {
          new Webhook(SECRET).verify(BODY, headers);
        } catch {
          does = false;
        }
        expect([list, accepts]).toEqual([list, does]);
      }),
    );
  });
});
