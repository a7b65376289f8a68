import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { type Answer, type Body, hmac, World } from "../../support/world.ts";

/** The number of runs is large enough for unexpected inputs, and bounded. A failure prints its seed; `{ seed, path }` here repeats it. */
const RUNS = { numRuns: 30 };

const anyOperation = fc.constantFrom(...OPERATIONS.map(({ wireName }) => wireName));

/** Checks that the answer is an envelope, and never a 5xx. */
function expectEnvelope({ status, headers, envelope }: Answer): void {
  expect(status).toBeLessThan(500);
  expect(headers.get("content-type")).toMatch(/^application\/json/);
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(Object.keys(envelope)).toEqual(["code", "msg", "data"]);
  expect(envelope.msg).toEqual(expect.any(String));
  if (envelope.code === 1) expect(status).toBe(200);
  else expect({ ...envelope, msg: "" }).toEqual({ code: -1, msg: "", data: "" });
  if (envelope.code !== 1) expect(status).toBeGreaterThanOrEqual(400);
}

/** Sends the request. Expects that the store gains either one accepted request or at most a nonce. */
async function sendAndCheck(world: World, operation: string, body: string): Promise<Answer> {
  const before = await world.stored();
  const answer = await world.send(operation, body);
  expectEnvelope(answer);
  const after = await world.stored();
  if (answer.envelope.code !== 1) {
    expect({ ...after, nonces: [] }).toEqual({ ...before, nonces: [] });
    expect(after.nonces.length - before.nonces.length).toBeLessThanOrEqual(1);
    return answer;
  }
  expect(after.nonces.length - before.nonces.length).toBe(1);
  if (operation === "create_gd" || operation === "add_kf") {
    expect(after.sessions.length - before.sessions.length).toBe(operation === "create_gd" ? 1 : 0);
    expect(after.messages.length - before.messages.length).toBe(operation === "create_gd" ? 1 : 0);
  }
  if (operation === "add_kf") expect(after.participants.length).toBeGreaterThan(before.participants.length);
  return answer;
}

const headerText = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 300,
});

describe("any input at all", () => {
  it("arbitrary bytes, forged or signed, get an envelope and write nothing", async () => {
    const world = await World.create();
    const before = await world.stored();
    await fc.assert(
      fc.asyncProperty(
        anyOperation,
        fc.uint8Array({ maxLength: 2_000 }),
        fc.option(headerText),
        fc.option(headerText),
        async (operation, bytes, signature, key) => {
          const body = new Uint8Array(bytes);
          const headers = new Headers({ "x-chat-signature": signature ?? (await hmac(world.secret, body)) });
          if (key !== null) headers.set("idempotency-key", key);
          const answer = await world.sendRaw(operation, body, headers);
          expectEnvelope(answer);
          expect(answer.envelope.code).toBe(-1);
        },
      ),
      RUNS,
    );
    expect(await world.stored()).toEqual(before);
  });

  it("arbitrary signed JSON, alone or beside a fresh timestamp and ranstr, gets an envelope and writes nothing", async () => {
    const world = await World.create();
    const before = await world.stored();
    const fields = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 8 });
    await fc.assert(
      fc.asyncProperty(
        anyOperation,
        fc.jsonValue({ maxDepth: 5 }),
        fields,
        fc.boolean(),
        async (operation, json, more, alone) => {
          const { appid, timestamp, ranstr } = world.createBody();
          const body = JSON.stringify(alone ? json : { ...more, appid, timestamp, ranstr });
          const answer = await world.send(operation, body);
          expectEnvelope(answer);
          expect(answer.envelope.code).toBe(-1);
        },
      ),
      RUNS,
    );
    expect(await world.stored()).toEqual(before);
  });

  const edges = fc.constantFrom<unknown>(
    null,
    "",
    " ",
    0,
    -0,
    -1,
    1.5,
    1e21,
    2 ** 53,
    -(2 ** 53),
    true,
    false,
    [],
    {},
    [[]],
    "0",
    "1,",
    ",",
    "1,,2",

    "1e3",
    "٣",
    "\u0000",
    "\ud800",
    "'",
    "\u202e",
    "x".repeat(65_000),
    Array(101).fill(1),
    Array(101)
      .fill(0)
      .map((_, i) => i + 1),
  );
  const anyField = fc.constantFrom(
    "appid",
    "timestamp",
    "ranstr",
    "__proto__",
    "constructor",
    ...new Set(OPERATIONS.flatMap(({ fieldNames }) => fieldNames)),
  );
  const mutation = fc.oneof(
    fc.record({
      field: anyField,
      value: fc.oneof(edges, fc.jsonValue({ maxDepth: 3 }), fc.string({ unit: "binary" })),
    }),
    fc.record({
      field: anyField,
      value: fc.oneof(fc.integer(), fc.double(), fc.maxSafeInteger(), fc.array(fc.integer())),
    }),
    fc.record({ field: anyField }),
  );

  it.each(SIGNED_ROUTES)(
    "a mutated and signed request of $operation gets an envelope, and writes nothing unless it is accepted",
    async ({ operation, acceptable }) => {
      const world = await World.create();
      const chatId = await world.chatId({ kefu_id: [1] });
      const valid: Record<string, () => Body> = {
        create_gd: () => world.createBody({ title: "Title" }),
        add_kf: () => world.addBody(chatId, { kefu_ids: [2] }),
      };
      await fc.assert(
        fc.asyncProperty(fc.array(mutation, { maxLength: 2 }), async (mutations) => {
          const body = valid[operation]?.() ?? (await acceptable(world));
          for (const { field, ...change } of mutations) {
            if ("value" in change)
              Object.defineProperty(body, field, {
                value: change.value,
                enumerable: true,
                writable: true,
                configurable: true,
              });
            else delete body[field];
          }
          await sendAndCheck(world, operation, JSON.stringify(body));
        }),
        RUNS,
      );
    },
  );

  it("a request with changed bytes gets an envelope, and writes nothing unless it is accepted", async () => {
    const world = await World.create();
    const before = await world.stored();
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 255 }), fc.boolean(), async (at, flip, signedAfter) => {
        const bytes = Uint8Array.from(
          new TextEncoder().encode(JSON.stringify(world.createBody({ kefu_id: [1, 404] }))),
        );
        const signature = await hmac(world.secret, bytes);
        const i = at % bytes.length;
        bytes[i] = (bytes[i] ?? 0) ^ flip;
        const answer = await world.sendRaw("create_gd", bytes, {
          "x-chat-signature": signedAfter ? await hmac(world.secret, bytes) : signature,
        });
        expectEnvelope(answer);
        if (!signedAfter) expect(answer.envelope.code).toBe(-1);
        if (!signedAfter) expect(answer.status).toBeOneOf([400, 401]);
      }),
      RUNS,
    );
    const { customers, messages } = await world.stored();
    expect({ customers, messages }).toEqual({ customers: before.customers, messages: before.messages });
  });
});

/** Text that systems tend to alter: cut at NUL, reordered, split, interpreted, trimmed, normalised. */
const DELICATE = [
  "\u0000",
  "before\u0000after",
  "\u202eright to left\u202c",
  "مرحبا שלום",
  "👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿",
  "𠮷𐍈𝒳",
  "é e\u0301",
  "'; DROP TABLE x;--",
  "%_\\'\"`?1 :a @b $c",
  "<script>a('&amp;')</script>",
  "  \t\r\n ",
  "\ufeff\u200b\u2028\u2029\ufffd\ufffe\uffff",
  "\u0001\u001f\u007f\u0080\u009f",
  "null",
  "1e3",
  "007",
];

/** Well-formed text of `min` to `max` code points, which contains delicate pieces. */
function textOf(min: number, max: number): fc.Arbitrary<string> {
  const cut = (text: string) => [...text].slice(0, max).join("");
  return fc.oneof(
    fc.string({ unit: "binary", minLength: min, maxLength: max }),
    fc.array(fc.constantFrom(...DELICATE), { minLength: 1, maxLength: 5 }).map((pieces) => cut(pieces.join(""))),
    fc.string({ unit: "binary", minLength: max, maxLength: max }),
  );
}

interface Sent {
  sbs: string;
  sbs_mc: string;
  content: string;
  title?: string;
  ip: string;
}

/** Creates a session with these fields and reads it back, from D1 itself and through the admin API. */
async function expectReadBack(world: World, sent: Sent, body: string): Promise<void> {
  const answer = await world.send("create_gd", body);
  expect(answer.envelope).toEqual({ code: 1, msg: "ok", data: { chat_id: expect.any(Number) } });
  const { chat_id } = answer.envelope.data as { chat_id: number };
  const title = sent.title ?? null;
  const row = await env.DB.prepare(
    `SELECT c.external_id AS sbs, c.name AS sbs_mc, c.ip, m.content, s.visitor_title, s.agent_title
    FROM sessions s JOIN customers c ON c.site_id = s.site_id AND c.external_id = s.customer_external_id
    JOIN messages m ON m.site_id = s.site_id AND m.session_id = s.id WHERE s.site_id = ? AND s.id = ?`,
  )
    .bind(world.siteId, chat_id)
    .first();
  const { sbs, sbs_mc, content, ip } = sent;
  expect(row).toEqual({ sbs, sbs_mc, content, ip, visitor_title: title, agent_title: title });
  const read = await world.admin("GET", `/admin/sites/${world.siteId}/sessions/${chat_id}`);
  expect(await read.json()).toMatchObject({
    customer: { sbs, name: sbs_mc, ip },
    visitor_title: title,
    agent_title: title,
    messages: [{ content }],
  });
}

describe("an accepted text", () => {
  it("an accepted text reads back exactly as it was sent, in every text field", async () => {
    const world = await World.create();
    const sent = fc.record(
      {
        sbs: textOf(1, 64),
        sbs_mc: textOf(1, 30),
        content: textOf(1, 2_000),
        title: textOf(1, 120),
        ip: fc.oneof(fc.ipV4(), fc.ipV6()),
      },
      { requiredKeys: ["sbs", "sbs_mc", "content", "ip"] },
    );
    await fc.assert(
      fc.asyncProperty(sent, async (fields) => {
        await expectReadBack(world, fields, JSON.stringify(world.createBody({ ...fields })));
      }),
      RUNS,
    );
  });

  it("an accepted text of delicate characters reads back exactly as it was sent, in every text field", async () => {
    const world = await World.create();
    for (const text of DELICATE) {
      const sent = { sbs: text, sbs_mc: text, content: text, title: text, ip: "::1" };
      await expectReadBack(world, sent, JSON.stringify(world.createBody(sent)));
    }
  });

  it("an accepted number in sbs reads back digit for digit, however long it is", async () => {
    const world = await World.create();
    const digits = fc
      .tuple(fc.boolean(), fc.bigInt({ min: 1n, max: 10n ** 63n - 1n }))
      .map(([negative, number]) => `${negative ? "-" : ""}${number}`);
    await fc.assert(
      fc.asyncProperty(digits, async (sbs) => {
        const body: Body = world.createBody({ sbs: "SBS" });
        const sent = { sbs, sbs_mc: "Customer Name", content: "Initial message", ip: "127.0.0.1" };
        await expectReadBack(world, sent, JSON.stringify(body).replace('"SBS"', sbs));
      }),
      RUNS,
    );
  });
});
