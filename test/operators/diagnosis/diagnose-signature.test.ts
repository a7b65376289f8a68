import { afterEach, describe, expect, it, vi } from "vitest";
import { violationOfShape } from "../../../src/core/signed/violation-of-shape.ts";
import {
  diagnoseSignature,
  lineEndsOf,
  type TriedSecret,
} from "../../../src/operators/diagnosis/diagnose-signature.ts";
import { encodeGbk } from "../../../src/operators/diagnosis/encodings.ts";
import { writeTree } from "../../../src/operators/diagnosis/json-tree.ts";
import { english, sentenceOf } from "../../../src/operators/diagnosis/words.ts";
import { hmac } from "../../support/hmac.ts";
import { NOW } from "../../support/test-runtime.ts";

vi.mock("../../../src/operators/diagnosis/json-tree.ts", { spy: true });

const SECRET = "0123456789abcdef0123456789abcdef";
const OLD = "an older Secret";
const CURRENT = { slot: "current", secret: SECRET, expiresAt: Number.POSITIVE_INFINITY } as const;
const overlapSecret = { slot: "previous", secret: OLD, expiresAt: NOW + 60 } as const;
const endedSecret = { slot: "previous", secret: OLD, expiresAt: NOW } as const;

const DOCUMENTED = ["appid", "timestamp", "ranstr", "sbs_mc", "content", "kefu_id"];
const FIELDS = { timestamp: NOW, appid: "app", ranstr: "r/1", sbs_mc: "客户", content: "a < b & c", kefu_id: [2, 1] };
const BODY = JSON.stringify(FIELDS);
const PASTED = { operation: { path: "/openapi/chat/create_gd" } };

const diagnose = (body: string, signature: string, secrets: readonly TriedSecret[] = [CURRENT], more = {}) =>
  diagnoseSignature({ body, signature, ...PASTED, ...more }, secrets, DOCUMENTED, NOW);

/** The diagnosis when `signed` was signed and `sent` was sent with its line ends. */
const findingsOf = async (signed: string | Uint8Array<ArrayBuffer>, sent: string) =>
  diagnose(sent, await hmac(SECRET, signed), [CURRENT], { lineEndsKept: true });

const names = ({ findings }: Awaited<ReturnType<typeof diagnose>>) => findings.map(({ name }) => name);
const texts = ({ findings }: Awaited<ReturnType<typeof diagnose>>) => findings.map((each) => sentenceOf(english, each));

/** An HMAC whose key may be any bytes. */
async function hmacWith(key: Uint8Array<ArrayBuffer>, body: string, hash = "SHA-256"): Promise<string> {
  const hmacKey = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", hmacKey, new TextEncoder().encode(body))).toHex();
}
const hashOf = async (text: string, hash = "SHA-256") =>
  new Uint8Array(await crypto.subtle.digest(hash, new TextEncoder().encode(text))).toHex();

describe("a signature that the server accepts", () => {
  it("a signature over exactly the pasted body is valid, in either case and between blanks", async () => {
    const signature = await hmac(SECRET, BODY);
    for (const text of [signature, signature.toUpperCase(), ` ${signature}\n`]) {
      const diagnosis = await diagnose(BODY, text);
      expect(diagnosis).toMatchObject({ valid: true, exact: true, match: { slot: "current", body: { text: BODY } } });
      expect(names(diagnosis)).toEqual(["valid"]);
    }
  });

  it("a signature with the previous secret is valid until its overlap ends", async () => {
    const signature = await hmac(OLD, BODY);
    const inside = await diagnose(BODY, signature, [CURRENT, overlapSecret]);
    expect([inside.valid, names(inside)]).toEqual([true, ["valid", "previous_valid"]]);
    const after = await diagnose(BODY, signature, [CURRENT, endedSecret]);
    expect([after.valid, after.exact, names(after)]).toEqual([false, true, ["previous_ended"]]);
    expect(texts(after)[0]).toContain("stopped working on 2027-01-15T08:00:00.000Z");
  });

  it("the signature diagnosis finds a fault in a signature's form exactly when the server does", async () => {
    const right = "0".repeat(64);
    for (const signature of [
      right,
      "A".repeat(64),
      "",
      "x",
      `${right}0`,
      `"${right}"`,
      `\u200b${right}`,
      `0x${right}`,
    ]) {
      const { signature: read } = await diagnose(BODY, signature);
      expect([signature, read.mistakes.length === 0]).toEqual([signature, violationOfShape(signature) === undefined]);
    }
  });
});

describe("a signature that the server refuses", () => {
  it("a signature by an unknown secret or over a changed value has no match", async () => {
    const unknown = await diagnose(BODY, await hmac("somebody else's", BODY));
    expect([unknown.valid, unknown.match, names(unknown)]).toEqual([false, undefined, ["no_match", "received"]]);
    expect(names(await findingsOf(BODY.replace("客户", "顾客"), BODY))).toEqual(["no_match", "received"]);
  });

  it("a signature by another app's secret names that app and is not valid", async () => {
    const other = { slot: "other_app", secret: OLD, expiresAt: Number.POSITIVE_INFINITY, appid: "stock" } as const;
    const diagnosis = await diagnose(BODY, await hmac(OLD, BODY), [CURRENT, other]);
    expect([diagnosis.valid, diagnosis.exact, names(diagnosis)]).toEqual([false, false, ["other_app"]]);
    expect(texts(diagnosis)[0]).toMatch(/^Signed with the secret of the app stock\./);
    const nameless = await diagnose(BODY, await hmac(OLD, BODY), [CURRENT, { ...other, appid: undefined }]);
    expect(names(nameless)).toEqual(["other_app"]);
    const withLineEnd = await diagnose(BODY, await hmac(`${OLD}\n`, BODY), [CURRENT, other]);
    expect(names(withLineEnd)).toEqual(["no_match", "received"]);
  });

  it.each(["", "not json", "[1]", '"text"', '{"appid":'])(
    "a signature over a body that is no object is diagnosed: %j",
    async (body) => {
      expect(names(await findingsOf(`${body}\n`, body))).toEqual(["lf_signed"]);
      expect((await findingsOf("{\n}", body)).match).toBeUndefined();
    },
  );

  it("a signature over bytes that are not UTF-8 is compared with the bytes only", async () => {
    const bytes = Uint8Array.of(0x7b, 0xff);
    const options = { bytes, lineEndsKept: true };
    expect(names(await diagnose("{\ufffd", await hmac(SECRET, bytes), [CURRENT], options))).toEqual(["valid"]);
    expect(names(await diagnose("{\ufffd", await hmac(SECRET, "{\ufffd"), [CURRENT], options))).toEqual([
      "no_match",
      "received",
    ]);
  });

  it("the signature diagnosis does not try the encoding GBK when it lacks a character of the body", async () => {
    expect(names(await findingsOf('{"a":"😀"} ', '{"a":"😀"}'))).toEqual(["blank_after"]);
    expect(encodeGbk("😀")).toBeUndefined();
  });

  it("the signature diagnosis says which line end was signed and which was sent", async () => {
    const cases: [signed: string, sent: string, name: string, text: RegExp][] = [
      [`${BODY}\n`, BODY, "lf_signed", /^What was signed ends with a line end, LF \(\\n\), that was not sent/],
      [`${BODY}\r\n`, BODY, "crlf_signed", /^What was signed ends with a line end, CRLF/],
      [`${BODY}\n\n`, BODY, "two_lf_signed", /^What was signed ends with a line end, \\n\\n, that was not sent/],
      [`${BODY}\r`, BODY, "cr_signed", /^What was signed ends with a line end, CR \(\\r\), that was not sent/],
      [BODY, `${BODY}\n`, "newline_not_signed", /^What was sent ends with a line end, LF/],
      [BODY, `${BODY}\r\n`, "newline_not_signed", /^What was sent ends with a line end, CRLF/],
      [`${BODY}\n`, `${BODY}\r\n`, "lf_signed_instead", /ends with LF \(\\n\), what was sent ends with CRLF/],
      ['{\n"a":1}', '{\r\n"a":1}', "line_ends_changed", /has the line ends LF \(\\n\), what was sent has CRLF/],
      ['{\r\n"a":1}', '{\n"a":1}', "line_ends_changed", /has the line ends CRLF/],
    ];
    for (const [signed, sent, name, text] of cases) {
      const diagnosis = await findingsOf(signed, sent);
      expect([names(diagnosis), texts(diagnosis)[0]]).toEqual([[name], expect.stringMatching(text)]);
      expect(diagnosis.valid).toBe(false);
    }
    const diagnosis = await diagnose(`${BODY}\r\n`, await hmac(SECRET, BODY));
    expect(texts(diagnosis)[0]).toMatch(/^What was signed has no line end at its end, the pasted body does/);
  });

  const pretty = JSON.stringify(FIELDS, null, 3);
  it.each([
    ["lf", pretty, "LF (\\n)"],
    ["crlf", pretty.replaceAll("\n", "\r\n"), "CRLF (\\r\\n)"],
  ] as const)(
    "a signature over %s line ends matches although a form turns all line ends into CRLF",
    async (lineEnds, signed, fits) => {
      const diagnosis = await diagnose(pretty.replaceAll("\n", "\r\n"), await hmac(SECRET, signed));
      expect(diagnosis).toMatchObject({ valid: true, match: { body: { lineEnds, text: signed } } });
      expect(diagnosis.match && lineEndsOf(diagnosis.match.body)?.fits).toBe(fits);
      expect(names(diagnosis)).toEqual(["valid", "line_ends_depend"]);
    },
  );
});

const asUnicode = (text: string, which: RegExp) =>
  text.replace(which, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const NON_ASCII = /[^\0-\x7f]/g;
const sorted = JSON.stringify(Object.fromEntries(Object.entries(FIELDS).sort(([a], [b]) => (a < b ? -1 : 1))));
const { timestamp, appid, ranstr, ...others } = FIELDS;

describe("the same JSON, serialised anew", () => {
  it.each<[string, string, string, string]>([
    ["JSON.stringify", BODY, JSON.stringify(FIELDS, null, 3), "compact"],
    ["JSON.stringify of texts without blanks", '{"a":"b","c":[1,2]}', '{"a": "b", "c": [1, 2]}', "compact"],
    ["sorted keys", sorted, BODY, "keys_sorted"],
    ["sorted keys without the line end that was sent", sorted, `${BODY}\n`, "keys_sorted"],
    ["sorted keys without spaces", sorted, JSON.stringify(FIELDS, null, 3), "keys_sorted+compact"],
    ["the documentation's order", JSON.stringify({ appid, timestamp, ranstr, ...others }), BODY, "keys_documented"],
    [
      "the documented order, own fields last",
      `{"appid":"app","ranstr":"r/1","note":1}`,
      `{"note":1,"ranstr":"r/1","appid":"app"}`,
      "keys_documented",
    ],
    [
      "Python's json.dumps",
      `{"timestamp": ${NOW}, "appid": "app", "ranstr": "r/1", "sbs_mc": "\\u5ba2\\u6237", "content": "a < b & c", "kefu_id": [2, 1]}`,
      BODY,
      "spaced+unicode_escaped",
    ],
    [
      "Python's json.dumps with ensure_ascii=False and sort_keys",
      `{"appid": "app", "content": "a < b & c", "kefu_id": [2, 1], "ranstr": "r/1", "sbs_mc": "客户", "timestamp": ${NOW}}`,
      BODY,
      "keys_sorted+spaced",
    ],
    ["PHP's json_encode", asUnicode(BODY, NON_ASCII).replaceAll("/", "\\/"), BODY, "unicode_escaped+slashes_escaped"],
    ["Go's json.Marshal", asUnicode(BODY, /[<>&]/g), BODY, "html_escaped"],
    ["Gson", asUnicode('{"a":"x=<\'>"}', /[<>&='](?!\{)/g), '{"a":"x=<\'>"}', "gson_escaped"],
    [".NET", '{"a":"\\u0022\\u0027\\u002B\\u5BA2\\\\"}', '{"a":"\\"\'+客\\\\"}', "dotnet_escaped"],
    ["escapes in capitals", BODY.replace("客户", "\\u5BA2\\u6237"), BODY, "unicode_escaped_upper"],
    ["characters as they are, where escapes were sent", BODY, asUnicode(BODY, NON_ASCII), "unescaped"],
    [
      "sorted keys, where escapes were signed and sent",
      asUnicode(sorted, NON_ASCII),
      asUnicode(BODY, NON_ASCII),
      "keys_sorted",
    ],
    ["spaces beside digits beyond 2^53", '{"sbs": 12345678901234567890}', '{"sbs":12345678901234567890}', "spaced"],
    ["the digits JavaScript keeps", '{"sbs":12345678901234567000}', '{"sbs":12345678901234567890}', "numbers_rounded"],
    [
      "the digits JavaScript keeps, beside a key that is a number",
      '{"7":1,"sbs":12345678901234567000}',
      '{"sbs":12345678901234567890,"7":1}',
      "numbers_rounded+keys_as_javascript",
    ],
    ["a key that stands twice, once", '{"a":2,"b":1}', '{"a":1,"b":1,"a":2}', "keys_as_javascript"],
    ["numbers as JavaScript writes them", '{"sbs":1}', '{"sbs":1.0}', "numbers_rounded"],
    ...[1, 2, 3, 4, 5, 6, 7, 8].flatMap((n): [string, string, string, string][] => {
      const indented = JSON.stringify(FIELDS, null, n);
      return [
        [`${n} spaces`, indented, BODY, "indented"],
        [`${n} spaces and CRLF`, indented.replaceAll("\n", "\r\n"), BODY, "indented+crlf"],
        [
          `${n} spaces and a space at each line's end`,
          indented.replaceAll(",\n", ", \n"),
          BODY,
          "indented+comma_spaced",
        ],
        [`${n} spaces and \\u escapes`, asUnicode(indented, NON_ASCII), BODY, "indented+unicode_escaped"],
      ];
    }),
    ["a space after each comma", BODY.replaceAll(",", ", "), BODY, "comma_spaced"],
    ["a space after each colon", BODY.replaceAll('":', '": '), BODY, "colon_spaced"],
    ["a space after each colon, left out", BODY, BODY.replaceAll('":', '": '), "compact"],
    ["a space on each side of a colon", BODY.replaceAll('":', '" : '), BODY, "colon_surrounded"],
    ["a space on each side of a comma", BODY.replaceAll(",", " , "), BODY, "comma_surrounded"],
    ["a space inside braces", '{ "a":{ "b":[1] } }', '{"a":{"b":[1]}}', "braces_spaced"],
    ["spaces inside braces and elsewhere", '{ "a": 1, "b": 2 }', '{"a":1,"b":2}', "spaced+braces_spaced"],
    ["lines without an indent", '{\n"a": [\n1\n]\n}', '{"a":[1]}', "lines_only"],
    ["an indented form without spaces", '{\n "a":1,\n "b":2\n}', '{"a":1,"b":2}', "indented+colon_bare"],
    ["Perl", '{\n   "a" : [\n      1,\n      2\n   ]\n}', '{"a":[1,2]}', "indented+colon_surrounded"],
    ["JsonCpp", '{\n\t"a" : [ 1, 2 ]\n}', '{"a":[1,2]}', "indented_by_tabs+colon_surrounded+lists_inline"],
    ["Jackson on Windows", '{\r\n  "a" : 1,\r\n  "b" : [ 1, 2 ]\r\n}', '{"a":1,"b":[1,2]}', "indented_by_jackson+crlf"],
    [
      "PHP's JSON_PRETTY_PRINT",
      asUnicode(JSON.stringify(FIELDS, null, 4), NON_ASCII).replaceAll("/", "\\/"),
      BODY,
      "indented+unicode_escaped+slashes_escaped",
    ],
    ["tabs", JSON.stringify(FIELDS, null, "\t"), BODY, "indented_by_tabs"],
    ["CRLF of Windows", JSON.stringify(FIELDS, null, 2).replaceAll("\n", "\r\n"), BODY, "indented+crlf"],
    [
      "Jackson",
      '{\n  "a" : 1,\n  "b" : [ 1, 2 ],\n  "c" : { },\n  "d" : [ ]\n}',
      '{"a":1,"b":[1,2],"c":{},"d":[]}',
      "indented_by_jackson",
    ],
  ])(
    "the diagnosis recognises a signature over the same JSON written differently: %s",
    async (_, signed, sent, name) => {
      const diagnosis = await findingsOf(signed, sent);
      expect(names(diagnosis)).toEqual([name]);
      expect(diagnosis.match?.body).toMatchObject({ text: signed, rewritten: name.split("+") });
      expect(diagnosis.valid).toBe(false);
    },
  );

  it("the signature diagnosis recognises differently written JSON even when an extra line end was signed", async () => {
    for (const signed of [sorted, asUnicode(BODY, NON_ASCII), JSON.stringify(FIELDS, null, "\t")]) {
      expect(names(await findingsOf(`${signed}\n`, BODY))).toEqual(names(await findingsOf(signed, BODY)));
    }
    const crlf = `${JSON.stringify(FIELDS, null, 4)}\n`.replaceAll("\n", "\r\n");
    expect(names(await findingsOf(crlf, BODY))).toEqual(["indented+crlf"]);
  });

  it("the signature diagnosis names all changes of the written JSON in one sentence", async () => {
    const diagnosis = await findingsOf(JSON.stringify(JSON.parse(sorted), null, 2), BODY);
    expect(texts(diagnosis)[0]).toMatch(
      /^The signature is over another text of the same JSON: keys sorted, indented by spaces: 2\. /,
    );
  });
});

describe("another text than the body", () => {
  const path = PASTED.operation.path;
  const encodedPairs = (encode: (text: string) => string, fields: object) =>
    Object.entries(fields)
      .map(([name, value]) => `${name}=${encode(typeof value === "string" ? value : JSON.stringify(value))}`)
      .join("&");
  const sortedFields = JSON.parse(sorted);
  const same = (text: string) => text;
  it.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ["empty", ""],
    ["empty_object", "{}"],
    ["object_as_text", "[object Object]"],
    ["undefined_signed", "undefined"],
    ["null_signed", "null"],
    ["bom", `\ufeff${BODY}`],
    ["blank_before", ` ${BODY}`],
    ["blank_after", `${BODY} `],
    ["blank_after", `${BODY}\t`],
    ["nul_after", `${BODY}\0`],
    ["blanks_removed", BODY.replaceAll(" ", "")],
    ["quoted", JSON.stringify(BODY)],
    ["slashes_added", BODY.replaceAll('"', '\\"')],
    ["html_entities", BODY.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")],
    ["percent_encoded", encodeURIComponent(BODY)],
    ["percent_encoded", encodeURI(BODY)],
    ["form_encoded", encodeURIComponent(BODY).replaceAll("%20", "+")],
    ["form_encoded", new URLSearchParams(encodedPairs(encodeURIComponent, FIELDS)).toString()],
    ["base64_signed", new TextEncoder().encode(BODY).toBase64()],
    ["upper_case", BODY.toUpperCase()],
    ["utf16", new Uint8Array([...BODY].flatMap((unit) => [unit.charCodeAt(0) & 0xff, unit.charCodeAt(0) >> 8]))],
    ["gbk", encodeGbk(BODY) ?? ""],
    ["question_marks", BODY.replace("客户", "??")],
    ["utf8_twice", String.fromCharCode(...new TextEncoder().encode(BODY))],
    [
      "python_text",
      `{'timestamp': ${NOW}, 'appid': 'app', 'ranstr': 'r/1', 'sbs_mc': '客户', 'content': 'a < b & c', 'kefu_id': [2, 1]}`,
    ],
    ["numbers_quoted", BODY.replace(String(NOW), `"${NOW}"`).replace("[2,1]", '["2","1"]')],
    ["sorted_pairs", encodedPairs(same, sortedFields)],
    ["sorted_pairs", encodedPairs(encodeURIComponent, sortedFields)],
    ["pairs", encodedPairs(same, FIELDS)],
    ...[same, encodeURIComponent, (text: string) => encodeURIComponent(text).replaceAll("%20", "+")].flatMap(
      (encode): [string, string][] =>
        ([sortedFields, FIELDS] as const).flatMap((fields): [string, string][] => {
          const query = encodedPairs(encode, fields);
          const name = fields === FIELDS ? "pairs" : "sorted_pairs";
          return [
            [name, `${path}?${query}`],
            [name, `?${query}`],
            [`${name}_with_key`, `${query}&key=${SECRET}`],
            [`${name}_with_key`, `${query}&secret=${SECRET}`],
            [`${name}_with_key`, `${query}${SECRET}`],
            [`${name}_with_key`, `${query}&app_secret=${SECRET}`],
            [`${name}_with_key`, `${SECRET}${query}`],
            [`${name}_with_key`, `${SECRET}${query}${SECRET}`],
          ];
        }),
    ),
    ...["kefu_id=2&kefu_id=1", "kefu_id[]=2&kefu_id[]=1", "kefu_id[0]=2&kefu_id[1]=1", "kefu_id=2,1"].map(
      (list): [string, string] => ["pairs", encodedPairs(same, FIELDS).replace("kefu_id=[2,1]", list)],
    ),
    [
      "pairs",
      encodedPairs(encodeURIComponent, FIELDS).replace("kefu_id=%5B2%2C1%5D", "kefu_id%5B0%5D=2&kefu_id%5B1%5D=1"),
    ],
    // Python's urllib.parse.urlencode writes this.
    [
      "pairs",
      new URLSearchParams(Object.entries({ ...FIELDS, kefu_id: "[2, 1]" }).map(([k, v]) => [k, `${v}`])).toString(),
    ],
    ["pairs", encodedPairs(same, { ...FIELDS, kefu_id: "" }).replace("&kefu_id=", "")],
    ["some_fields", `appid=app&timestamp=${NOW}&ranstr=r/1`],
    ["sorted_values", `appa < b & c[2,1]r/1客户${NOW}`],
    ["some_fields", `app${NOW}r/1`],
    ["path_first", `${path}${BODY}`],
    ["path_first", `POST\n${path}\n${BODY}`],
    ["timestamp_first", `${NOW}.${BODY}`],
    ["timestamp_first", `POST\n${path}\n${NOW}\nr/1\n${BODY}\n`],
    ["timestamp_last", `${BODY}${NOW}`],
    ["appid_first", `app${BODY}`],
    ["secret_in_text", `${BODY}${SECRET}`],
    ["appid_added", JSON.stringify({ ...FIELDS, appid: undefined })],
    ["fields_added", JSON.stringify({ ...FIELDS, timestamp: undefined, ranstr: undefined })],
    ["fields_added", JSON.stringify({ ...FIELDS, content: undefined, kefu_id: undefined })],
  ])("the signature diagnosis recognises a signature over another text than the body: %s", async (name, signed) => {
    const diagnosis = await findingsOf(signed, BODY);
    expect([names(diagnosis), diagnosis.valid, diagnosis.exact]).toEqual([[name], false, false]);
  });

  it("the signature diagnosis finds the signed line ends in a text with the path although a form changed them", async () => {
    const pretty = JSON.stringify(FIELDS, null, 3);
    const signature = await hmac(SECRET, `${path}${pretty}`);
    expect(names(await diagnose(pretty.replaceAll("\n", "\r\n"), signature))).toEqual(["path_first"]);
  });

  it.each<[string, string, string]>([
    ["bom_removed", BODY, `\ufeff${BODY}`],
    ["trimmed", BODY, `  ${BODY}\n`],
    ["lower_case", '{"a":"b"}', '{"A":"B"}'],
    ["sorted_pairs", "a=x&b=%28%21%2A%29", '{"b":"(!*)","c":"","a":"x"}'],
    ["pairs", "b=%28+%29&a=x", '{"b":"( )","a":"x"}'],
    ["pairs", "b=(%20%e7%8e%8b)&a=x", '{"b":"( 王)","a":"x"}'],
    ["pairs", "b=(+%27%e7%8e%8b)&a=x", '{"b":"( \'王)","a":"x"}'],
    ["java_text", "{a=1, b=x}", '{"a":1,"b":"x"}'],
    ["numbers_unquoted", '{"a":1}', '{"a":"1"}'],
    ["nfc", '{"a":"\u00e9"}', '{"a":"e\u0301"}'],
    ["nfd", '{"a":"e\u0301"}', '{"a":"\u00e9"}'],
    ["appid_added", '{"a": 1, "b": "x"}', '{"a": 1, "b": "x", "appid": "app"}'],
  ])("the signature diagnosis recognises a signature over a changed body: %s", async (name, signed, sent) => {
    expect(names(await findingsOf(signed, sent))).toEqual([name]);
  });
});

describe("another key than the secret", () => {
  const bytes = (text: string) => Uint8Array.from(new TextEncoder().encode(text));
  it.each<[string, Uint8Array<ArrayBuffer>]>([
    ["secret_lf", bytes(`${OLD}\n`)],
    ["secret_crlf", bytes(`${OLD}\r\n`)],
    ["secret_blank_after", bytes(`${OLD} `)],
    ["secret_blank_before", bytes(` ${OLD}`)],
    ["secret_double_quotes", bytes(`"${OLD}"`)],
    ["secret_single_quotes", bytes(`'${OLD}'`)],
    ["secret_upper_case", bytes(OLD.toUpperCase())],
    ["secret_lower_case", bytes(OLD.toLowerCase())],
    ["secret_base64_encoded", bytes(btoa(OLD))],
    ["secret_last_missing", bytes(OLD.slice(0, -1))],
    ["secret_empty", new Uint8Array(1)],
    ["secret_undefined", bytes("undefined")],
    ["secret_null", bytes("null")],
    ["secret_appid", bytes("app")],
    ["secret_example", bytes("YOUR_APP_SECRET")],
  ])("the signature diagnosis recognises a signature with a changed secret: %s", async (name, key) => {
    const diagnosis = await diagnose(BODY, await hmacWith(key, BODY), [{ ...CURRENT, secret: OLD }]);
    expect([names(diagnosis), diagnosis.valid]).toEqual([[name], false]);
  });

  it.each<[string, string, Uint8Array<ArrayBuffer>]>([
    ["secret_hex_decoded", SECRET, Uint8Array.fromHex(SECRET)],
    ["secret_base64_decoded", "c2VjcmV0", bytes("secret")],
    ["secret_trimmed", ` ${OLD}\n`, bytes(OLD)],
    ["secret_unquoted", `"${OLD}"`, bytes(OLD)],
  ])(
    "the signature diagnosis recognises a signature with a decoded or trimmed secret: %s",
    async (name, secret, key) => {
      expect(names(await diagnose(BODY, await hmacWith(key, BODY), [{ ...CURRENT, secret }]))).toEqual([name]);
    },
  );

  it("the signature diagnosis does not try a changed secret together with a changed body", async () => {
    expect(names(await diagnose(BODY, await hmac(`${SECRET}\n`, sorted)))).toEqual(["no_match", "received"]);
  });

  it("the signature diagnosis names an ended secret first, and then the change that was made to it", async () => {
    const diagnosis = await diagnose(BODY, await hmac(`${OLD}\n`, BODY), [CURRENT, endedSecret]);
    expect(names(diagnosis)).toEqual(["previous_ended", "secret_lf"]);
  });
});

describe("another computation than HMAC-SHA256", () => {
  it("the signature diagnosis recognises a signature by another computation than HMAC-SHA256", async () => {
    const key = new TextEncoder().encode(SECRET);
    const rightSignature = await hmac(SECRET, BODY);
    const cases: [string, string][] = [
      ["plain_hash", await hashOf(BODY)],
      ["plain_hash", await hashOf(SECRET + BODY)],
      ["plain_hash", await hashOf(BODY + SECRET, "SHA-1")],
      ["swapped", await hmac(BODY, SECRET)],
      ["hash_signed", await hmac(SECRET, await hashOf(BODY))],
      ["key_hashed", await hmac(await hashOf(SECRET), BODY)],
      ["other_hash", await hmacWith(Uint8Array.from(key), BODY, "SHA-1")],
      ["other_hash", await hmacWith(Uint8Array.from(key), BODY, "SHA-512")],
      ["truncated", rightSignature.slice(0, 32)],
      ["truncated", rightSignature.slice(4)],
    ];
    for (const [name, signature] of cases) {
      const diagnosis = await diagnose(BODY, signature);
      expect([name, names(diagnosis), diagnosis.instead]).toEqual([name, [name], name]);
    }
    expect(texts(await diagnose(BODY, await hashOf(BODY)))[0]).toMatch(/^It is a plain SHA-256 hash/);
  });

  it("the signature diagnosis recognises a right signature whose bytes are written wrongly", async () => {
    // With this text the first byte of the signature is below 16, and others are above 127.
    let text = "";
    let right = "";
    for (let count = 0; !right.startsWith("0"); count++) {
      text = `{"n":${count}}`;
      right = await hmac(SECRET, text);
    }
    const bytes = right.match(/../g) ?? [];
    const short = bytes.map((byte) => Number.parseInt(byte, 16).toString(16)).join("");
    const signExtended = bytes.map((byte) => (byte >= "80" ? `ffffff${byte}` : byte.replace(/^0/, ""))).join("");
    expect(names(await diagnose(text, right.slice(1)))).toEqual(["zeros_lost"]);
    expect(names(await diagnose(text, short))).toEqual(["zeros_lost"]);
    expect(names(await diagnose(text, signExtended))).toEqual(["sign_extended"]);
  });
});

describe("a signature in another form", () => {
  const dashed = (hex: string, by: string) => (hex.match(/../g) ?? []).join(by);
  it.each<[string[], (hex: string) => string]>([
    [["base64"], (hex) => Uint8Array.fromHex(hex).toBase64()],
    [["base64"], (hex) => Uint8Array.fromHex(hex).toBase64({ alphabet: "base64url", omitPadding: true })],
    [["base64_of_hex"], (hex) => btoa(hex)],
    [["hex_of_hex"], (hex) => dashed(hex, "").replace(/./g, (digit) => digit.charCodeAt(0).toString(16))],
    [["prefix"], (hex) => `sha256=${hex}`],
    [["quoted"], (hex) => `"${hex}"`],
    [["quoted"], (hex) => `'${hex}'`],
    [["prefix", "base64"], (hex) => `SHA256=${Uint8Array.fromHex(hex).toBase64()}`],
    [["dashes"], (hex) => dashed(hex.toUpperCase(), "-")],
    [["colons"], (hex) => dashed(hex, ":")],
    [["blanks_inside"], (hex) => dashed(hex, " ")],
    [["openssl"], (hex) => `(stdin)= ${hex}`],
    [["openssl"], (hex) => `SHA2-256(stdin)= ${hex}`],
    [["openssl"], (hex) => `HMAC-SHA256(body.json)= ${hex}`],
    [["file_name"], (hex) => `${hex} *stdin`],
    [["file_name"], (hex) => `${hex}  -`],
    [["zero_x"], (hex) => `0x${hex}`],
    [["bearer"], (hex) => `Bearer ${hex}`],
    [["version"], (hex) => `v1=${hex}`],
    [["version", "base64"], (hex) => `v1,${Uint8Array.fromHex(hex).toBase64()}`],
    [["header_name"], (hex) => `X-Chat-Signature: ${hex}`],
    [["python_bytes"], (hex) => `b'${hex}'`],
    [["twice"], (hex) => `${hex}, ${hex}`],
    [["invisible"], (hex) => `${hex}\u200b`],
    [["percent_encoded", "base64"], (hex) => encodeURIComponent(Uint8Array.fromHex(hex).toBase64())],
  ])("a signature in another form is refused and its form is named: %j", async (mistakes, write) => {
    const diagnosis = await diagnose(BODY, write(await hmac(SECRET, BODY)));
    expect(diagnosis).toMatchObject({ valid: false, signature: { mistakes }, match: { body: { text: BODY } } });
    expect(names(diagnosis)).toEqual(mistakes);
  });

  it.each([
    ["", ["missing"]],
    ["a".repeat(32), ["md5"]],
    ["a".repeat(40), ["sha1"]],
    ["a".repeat(96), ["sha384"]],
    ["a".repeat(128), ["sha512"]],
    ["a".repeat(10), ["length"]],
    ["abc.def.ghi", ["jwt"]],
    ["not a signature", ["unreadable"]],
  ])("an unreadable signature is reported as such: %j", async (signature, mistakes) => {
    const diagnosis = await diagnose(BODY, signature);
    expect(diagnosis).toMatchObject({ exact: false, valid: false, match: undefined, signature: { mistakes } });
    expect(names(diagnosis)).toEqual(mistakes);
  });

  it("a signature in base64 is recognised even when it begins like a number", async () => {
    expect(names(await diagnose(BODY, `0x${"Q".repeat(41)}`))).toEqual(["base64", "no_match", "received"]);
  });
});

describe("a signature that nothing explains", () => {
  const digest = async (bytes: Uint8Array<ArrayBuffer>) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();

  it("an unexplained signature gets the length and the SHA-256 of the body to compare", async () => {
    const bytes = Uint8Array.from(new TextEncoder().encode(BODY));
    const diagnosis = await diagnose(BODY, "a".repeat(64));
    expect(texts(diagnosis)[1]).toContain(`has ${bytes.length} bytes; their SHA-256 is ${await digest(bytes)}.`);
    expect(texts(diagnosis)[1]).toContain("sha256sum body.json");
    expect(texts(diagnosis)[1]).toMatch(/If all are the same, the secret is another one: .*\.$/);
  });

  it("an unexplained signature over bytes that are not UTF-8 gets the SHA-256 of these bytes", async () => {
    const bytes = Uint8Array.of(0x7b, 0xff);
    const diagnosis = await diagnose("{\ufffd", "a".repeat(64), [CURRENT], { bytes });
    expect(texts(diagnosis)[1]).toContain(`has 2 bytes; their SHA-256 is ${await digest(bytes)}.`);
  });

  it("an unexplained signature gets the SHA-256 with LF when a form did not keep the line ends", async () => {
    const diagnosis = await diagnose("{\r\n}", "a".repeat(64));
    const sha = await digest(Uint8Array.from(new TextEncoder().encode("{\n}")));
    expect(texts(diagnosis)[1]).toContain(`has 3 bytes; their SHA-256 is ${sha}. A form cannot keep line ends`);
    const withLineEnds = await diagnose("{\r\n}", "a".repeat(64), [CURRENT], { lineEndsKept: true });
    expect(texts(withLineEnds)[1]).toContain("has 4 bytes;");
  });
});

describe("the cost of a diagnosis", () => {
  afterEach(() => void vi.restoreAllMocks());

  const nest = (levels: number, inside = "") => `{"x":${"[".repeat(levels)}${inside}${"]".repeat(levels)}}`;
  const pairs = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`field-${100 - n}`, "客/<".repeat(20)]));
  const bodies: [string, string][] = [
    ["an ordinary body", BODY],
    ["many numbers", nest(31, Array(8_000).fill("1").join(","))],
    ["one long text", JSON.stringify({ b: "客/<".repeat(3_000), a: 1e30 })],
    ["many pairs", JSON.stringify(pairs)],
    [
      "one that differs in every way",
      `{"z":1.0,"7":12345678901234567890,"3":[1,2],"e":"","appid":"a", "a":"客/<+'(x)"}`,
    ],
    [
      "10 KiB that differ in every way",
      `{"z":1.0,"7":12345678901234567890,"3":1,"appid":"a", "a":"${"客/<".repeat(3_000)}"}`,
    ],
    ["64 KiB in an unknown layout", JSON.stringify({ z: 1, appid: "a", b: Array(31_000).fill(1) }).replace(",", ",  ")],
    ["64 KiB of empty lists", JSON.stringify({ z: 1, appid: "a", b: Array(20_000).fill([]) }).replace(",", ",  ")],
    ["16 KiB of line ends", "\n".repeat(16_000)],
    ["16 KiB that is no JSON", "{".repeat(16_000)],
  ];

  // No signature matches, so that all attempts are made and counted.
  const verifying = () => vi.spyOn(crypto.subtle, "verify").mockResolvedValue(false);

  it.each(bodies)("the cost of a diagnosis is bounded for %s", async (_, body) => {
    const verify = verifying();
    const sign = vi.spyOn(crypto.subtle, "sign").mockResolvedValue(new ArrayBuffer(32));
    vi.mocked(writeTree).mockClear();
    const others = Array.from({ length: 50 }, (_, n) => ({ ...CURRENT, slot: "other_app" as const, secret: `${n}` }));
    expect((await diagnose(body, "a".repeat(64), [CURRENT, endedSecret, ...others])).match).toBeUndefined();
    const macs = verify.mock.calls.length + sign.mock.calls.length;
    const bytes = verify.mock.calls.reduce((sum, [, , , message]) => sum + (message as Uint8Array).length, 0);
    expect(macs).toBeLessThan(3_500);
    // Some 128 MiB for a body of 64 KiB. A short body costs little, however often it is tried.
    const length = vi.mocked(writeTree).mock.results.reduce((sum, { value }) => sum + value.length, 0);
    expect(length).toBeLessThan(6 * 1024 * 1024);
    expect(bytes).toBeLessThan(Math.max(1_048_576, 2_048 * (new TextEncoder().encode(body).length + 100)));
  });

  it("beyond 32 levels or 64 KiB the signature diagnosis tries only other line ends, and says so", async () => {
    const verify = verifying();
    for (const body of [nest(2_000), nest(1, `"${"x".repeat(65_536)}"`)]) {
      verify.mockClear();
      const diagnosis = await diagnose(body, "a".repeat(64));
      expect([diagnosis.notRewritten, names(diagnosis)]).toEqual([true, ["no_match", "received", "not_rewritten"]]);
      expect(verify.mock.calls.length).toBeLessThan(150);
    }
    expect(await diagnose(BODY, "a".repeat(64))).not.toHaveProperty("notRewritten");
    // Brackets within a string do not count as levels.
    const texts = `{"x":"${"[".repeat(100)}\\"${"{".repeat(100)}"}`;
    expect(await diagnose(texts, "a".repeat(64))).not.toHaveProperty("notRewritten");
  });
});
