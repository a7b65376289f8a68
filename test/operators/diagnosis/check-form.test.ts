import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf16 } from "../../../src/operators/diagnosis/body-makers.ts";
import { checkAsCaller } from "../../../src/operators/diagnosis/check-as-caller.ts";
import { checkForm, checkIdempotencyKey } from "../../../src/operators/diagnosis/check-form.ts";
import { readTree, writeTree } from "../../../src/operators/diagnosis/json-tree.ts";
import { english, sentenceOf } from "../../../src/operators/diagnosis/words.ts";
import { hmac } from "../../support/hmac.ts";
import { NOW } from "../../support/test-runtime.ts";

const encode = (text: string) => Uint8Array.from(new TextEncoder().encode(text));

/** Each step that refuses: its status and its name. */
const refusals = (body: string | Uint8Array, headers: { contentType?: string | null; contentEncoding?: string } = {}) =>
  checkForm({ body: typeof body === "string" ? encode(body) : body, ...headers }).steps.flatMap(({ name, refusal }) =>
    refusal === undefined ? [] : [`${refusal.status} ${name}`],
  );

describe("the form of a request", () => {
  it("the check of a request's format passes a JSON object with an appid and returns its fields", () => {
    const { steps, fields } = checkForm({ body: encode('{"appid":"a"}'), contentType: "application/json" });
    expect(steps.map(({ step, name }) => [step, name])).toEqual([
      ["content_type", "type_right"],
      ["content_encoding", "encoding_absent"],
      ["size", "size_right"],
      ["body", "body_right"],
    ]);
    expect(fields).toEqual({ appid: "a" });
  });

  it("the check of a request's format names all faults before the body is read, in the order of the route", () => {
    expect(refusals("x".repeat(65_537), { contentType: "text/html", contentEncoding: "gzip" })).toEqual([
      "415 type_other",
      "415 encoding_present",
      "413 size_too_large",
    ]);
  });

  it("the check of a request's format passes a header that is not given, except when the body is a form", () => {
    expect(refusals('{"appid":"a"}')).toEqual([]);
    expect(refusals("appid=a&timestamp=1")).toEqual(["415 url_encoded", "400 url_encoded"]);
    expect(refusals('--x\r\nContent-Disposition: form-data; name="a"\r\n')).toEqual(["415 multipart", "400 multipart"]);
    expect(refusals("appid=a", { contentType: "application/json" })).toEqual(["400 url_encoded"]);
    const [type] = checkForm({ body: encode("a=1") }).steps;
    expect(type && sentenceOf(english, type)).toBe(
      "The body is URL-encoded, as a form sends it. Send JSON. A form has its own media type, which the server refuses before it reads the body.",
    );
  });

  it("the check of a request's format recognises UTF-16 in both byte orders, also without a mark, and unknown encodings", () => {
    for (const text of ["{}", '{"content":"订单在哪里"}']) {
      const little = utf16(text);
      expect(refusals(little)).toEqual(["400 utf16"]);
      expect(refusals(Uint8Array.from(little, (_, i) => little[i ^ 1] ?? 0))).toEqual(["400 utf16"]);
    }
    expect(refusals(Uint8Array.of(0xff, 0xfe, 0x7b, 0))).toEqual(["400 utf16"]);
    expect(refusals(Uint8Array.of(0xfe, 0xff, 0, 0x7b))).toEqual(["400 utf16"]);
    expect(refusals(Uint8Array.of(0x7b, 0xff, 0xff))).toEqual(["400 not_utf8"]);
  });

  it("the check of a request's format names no exact fault in a text with more than 32 levels", () => {
    expect(refusals(`${"[".repeat(40)}x`)).toEqual(["400 too_deep"]);
  });

  it("the check of a request's format passes a right Idempotency-Key or none", () => {
    expect([undefined, null, "a"].map((key) => checkIdempotencyKey(key).refusal)).toEqual(Array(3).fill(undefined));
    expect(checkIdempotencyKey("\u00e9").name).toBe("key_not_ascii");
    expect(checkIdempotencyKey("").refusal).toEqual({ status: 400, code: "invalid_parameters" });
  });
});

describe("a text that is no JSON", () => {
  it.each<[string, string, number]>([
    ['{"a":1', "cut_off", 6],
    ['{"a', "cut_off", 3],
    ['{"a"', "cut_off", 4],
    ["{", "cut_off", 1],
    ['{"a":', "cut_off", 5],
    ["[1,]", "trailing_comma", 3],
    ['{"a":1 "b":2}', "comma_missing", 7],
    ['{"a":"x"y"}', "comma_missing", 8],
    ['{"a":1 // x', "comment", 7],
    ["{# x", "comment", 1],
    ['{"a"："b"}', "full_width", 4],
    ['{"a":1，"b":2}', "full_width", 6],
    ['{"a":1｝', "full_width", 6],
    ["｛", "full_width", 0],
    ['{"a"-1}', "no_json_value", 4],
    ['{"a":01}', "bad_number", 5],
    ['{"a":+1}', "bad_number", 5],
    ['{"a":1_000}', "bad_number", 5],
    ['{"a":"\\x"}', "bad_string", 6],
    ['{"a":"\t"}', "control_character", 6],
    ["{a:1}", "key_unquoted", 1],
    ["{'a':1}", "single_quotes", 1],
    ["{\"a\":'b'}", "single_quotes", 5],
    ["{“a”:1}", "wrong_quotes", 1],
    ['{\\"a\\":1}', "backslashed_quotes", 1],
    ['{"a":\\"b\\"}', "backslashed_quotes", 5],
    ['{"a":None}', "python_words", 5],
    ['{"a":nil}', "no_json_value", 5],
    ["{} {}", "concatenated", 3],
    ["{};", "text_after", 2],
    ["[".repeat(33), "too_deep", 32],
  ])("the JSON reader names the first fault of a text that is not JSON: %s", (text, mistake, at) => {
    expect(readTree(text)).toEqual({ ok: false, mistake, at });
  });

  it.each(['{"a":[1,-2.5e+3,true,false,null,"\\u0041\\n"],"":{}}', " [ ] ", '"\u2028"', "0"])(
    "the JSON reader accepts what JSON.parse accepts: %s",
    (text) => {
      expect(readTree(text).ok).toBe(true);
      expect(() => JSON.parse(text)).not.toThrow();
    },
  );
});

describe("the reader of JSON", () => {
  it("the JSON reader accepts exactly what JSON.parse accepts, and writes it back unchanged", () => {
    const noise = fc.constantFrom(..."{}[],:\"'\\0-+.eE1 \n\ttrue/nul\u00a0\ufeff😀");
    const edits = fc.tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat(3), fc.string({ unit: noise, maxLength: 3 }));
    fc.assert(
      fc.property(edits, ([json, place, removed, added]) => {
        const at = place % (json.length + 1);
        for (const text of [json, json.slice(0, at) + added + json.slice(at + removed)]) {
          const read = readTree(text);
          expect([text, read.ok]).toEqual([text, isJson(text)]);
          if (!read.ok) continue;
          const again = writeTree(read.tree, { comma: ",", colon: ":" }, ({ raw }) => raw);
          expect(JSON.parse(again)).toEqual(JSON.parse(text));
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("a caller's check without the operation", () => {
  it("the check of a caller's own request without an operation judges no fields and uses the appid of the body", async () => {
    const body = JSON.stringify({ appid: "a", timestamp: NOW, ranstr: "r" });
    const { answer, steps } = await checkAsCaller({
      body: encode(body),
      secret: "s",
      signature: await hmac("s", body),
      now: NOW,
      tolerance: 300,
    });
    expect(answer).toEqual({ status: 200, message: "ok" });
    expect(steps.map(({ step, name }) => `${step} ${name}`)).toEqual([
      "server server",
      "fields fields_unknown",
      "content_type type_unknown",
      "content_encoding encoding_absent",
      "size size_right",
      "body body_right",
      "appid appid_in_body",
      "signature valid",
      "timestamp fresh",
      "idempotency_key key_absent",
    ]);
  });

  it.each([
    ["\n", "LF (\\n)", "CRLF (\\r\\n)"],
    ["\r\n", "CRLF (\\r\\n)", "LF (\\n)"],
    ["\r", "CR (\\r)", "LF (\\n)"],
  ])("the check of a caller's own request says which line ends fit the signature: %j", async (end, fits, other) => {
    const text = JSON.stringify({ appid: "a", timestamp: NOW, ranstr: "r" }, null, 2).replaceAll("\n", end);
    const request = { secret: "s", signature: await hmac("s", text), now: NOW, tolerance: 300 };
    const formRequest = { ...request, body: encode(text.replaceAll(/\r\n?/g, "\n")), lineEndsKept: false };
    const { answer, conditions } = await checkAsCaller(formRequest);
    expect([answer.status, conditions]).toMatchObject([200, [{ name: "line_ends", values: [fits, other] }]]);
    expect((await checkAsCaller({ ...request, body: encode(text) })).conditions).toEqual([]);
  });

  it.each(["s ", " s", '"s"', "s\n"])(
    "the check of a caller's own request warns of blanks or quotes around the secret: %j",
    async (secret) => {
      const body = JSON.stringify({ appid: "a", timestamp: NOW, ranstr: "r" });
      const request = { body: encode(body), signature: await hmac(secret, body), now: NOW, tolerance: 300 };
      expect((await checkAsCaller({ ...request, secret })).conditions).toMatchObject([{ name: "secret_edges" }]);
    },
  );

  it("the check of a caller's own request refuses 64 KiB in the place of the signature", async () => {
    for (const character of ["x", ",", '"', "a"]) {
      const request = {
        body: encode("{}"),
        secret: "s",
        signature: character.repeat(65_536),
        now: NOW,
        tolerance: 300,
      };
      expect((await checkAsCaller(request)).answer.status).toBe(400);
    }
  });

  it("the check of a caller's own stale request gives the answer now and the answer with a fresh timestamp", async () => {
    const body = JSON.stringify({ appid: "a", timestamp: NOW - 999, ranstr: "r" });
    const request = { body: encode(body), secret: "s", signature: await hmac("s", body), now: NOW, tolerance: 300 };
    expect(await checkAsCaller(request)).toMatchObject({ answer: { status: 401 }, fresh: { status: 200 } });
    const wrong = await checkAsCaller({ ...request, idempotencyKey: "" });
    expect(wrong).toMatchObject({ answer: { status: 401 }, fresh: { status: 400, message: "参数错误" } });
  });
});
