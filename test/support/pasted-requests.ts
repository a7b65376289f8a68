import { hmac } from "./hmac.ts";
import type { Body } from "./signed-bodies.ts";

/** Mistakes that callers make in requests, each made from a right request. */

/** The values from which a right request is made. */
export interface RightRequest {
  appid: string;
  secret: string;
  now: number;
  /** Makes the fields of an accepted call, with a new ranstr. */
  create: (change?: Body) => Body;
  add: (change?: Body) => Body;
}

/** A request as it is sent. */
export interface SentRequest {
  operation?: "add_kf";
  body: string | Uint8Array<ArrayBuffer>;
  /** Undefined sends no signature header. */
  signature: string | undefined;
  /** Further headers; `content-type` is that of JSON unless it is here, and null sends none. */
  headers?: Record<string, string | null>;
}

export interface PastedRequest {
  name: string;
  /** The name of the cause; "accepted" when the server accepts the request. */
  cause: string;
  make: (right: RightRequest) => SentRequest | Promise<SentRequest>;
}

type Text = string | Uint8Array<ArrayBuffer>;

/** Signs one text and sends another. */
const sign = async (
  { secret }: RightRequest,
  signedText: Text,
  sentText: Text = signedText,
  more: Partial<SentRequest> = {},
): Promise<SentRequest> => ({
  body: sentText,
  signature: await hmac(secret, signedText),
  ...more,
});

/** Fields with all characters that programs write in different ways. */
const REALISTIC = { sbs: "customer/001", sbs_mc: "王伟", content: "a/b <c> & 'd' = \"订单\" +1", title: "订单" };

const encode = (text: string) => Uint8Array.from(new TextEncoder().encode(text));
const hexOf = (bytes: ArrayBuffer) => new Uint8Array(bytes).toHex();
const hash = async (algorithm: string, text: string) => hexOf(await crypto.subtle.digest(algorithm, encode(text)));

async function keyed(key: Text, text: string, algorithm = "SHA-256"): Promise<string> {
  const raw = typeof key === "string" ? encode(key) : key;
  const hmacKey = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: algorithm }, false, ["sign"]);
  return hexOf(await crypto.subtle.sign("HMAC", hmacKey, encode(text)));
}

const escaped =
  (which: RegExp, upper = false) =>
  (json: string) =>
    json.replace(which, (unit) => {
      const digits = unit.charCodeAt(0).toString(16).padStart(4, "0");
      return `\\u${upper ? digits.toUpperCase() : digits}`;
    });
const ascii = escaped(/[^\0-\x7f]/g);
const compact = (fields: unknown) => JSON.stringify(fields);
const php = (fields: unknown) => ascii(compact(fields)).replaceAll("/", "\\/");
const go = (fields: unknown) => escaped(/[<>&]/g)(compact(fields));
const sortedFields = (fields: Body) => Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Python's json.dumps. */
function dumps(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(dumps).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${dumps(each)}`)
    .join(", ")}}`;
}

/** Java's Jackson with INDENT_OUTPUT, for fields without objects. */
const jackson = (fields: Body) =>
  `{\n${Object.entries(fields)
    .map(([key, each]) => `  "${key}" : ${Array.isArray(each) ? `[ ${each.join(", ")} ]` : JSON.stringify(each)}`)
    .join(",\n")}\n}`;

const dotnet = (fields: Body) => escaped(/[^\0-\x7f]|[<>&'+`]/g, true)(compact(fields)).replaceAll('\\"', "\\u0022");

const pairs = (fields: Body, encodeEach = (text: string) => text) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${encodeEach(typeof value === "string" ? value : compact(value))}`)
    .join("&");

const gbkOf = (text: string, chinese: Record<string, [number, number]>) =>
  Uint8Array.from([...text].flatMap((character) => chinese[character] ?? character.charCodeAt(0)));
const GBK: Record<string, [number, number]> = {
  王: [0xcd, 0xf5],
  伟: [0xce, 0xb0],
  订: [0xb6, 0xa9],
  单: [0xb5, 0xa5],
};
const utf16 = (text: string) =>
  Uint8Array.from([...`\ufeff${text}`].flatMap((unit) => [unit.charCodeAt(0) & 0xff, unit.charCodeAt(0) >> 8]));

/** Requests whose signature is over another text than the one sent. `text` is the right body, in compact JSON. */
const SIGNED_OTHERWISE: [
  name: string,
  cause: string,
  make: (fields: Body, text: string, right: RightRequest) => [signed: Text, sent?: Text],
][] = [
  ["echo without -n", "lf_signed", (_, text) => [`${text}\n`, text]],
  ["a file of Windows, sent trimmed", "crlf_signed", (_, text) => [`${text}\r\n`, text]],
  ["Go's json.Encoder, signed before", "newline_not_signed", (_, text) => [text, `${text}\n`]],
  ["curl --data-binary of a file of Windows", "newline_not_signed", (_, text) => [text, `${text}\r\n`]],
  ["LF turned into CRLF at the end", "lf_signed_instead", (_, text) => [`${text}\n`, `${text}\r\n`]],
  [
    "git's autocrlf",
    "line_ends_changed",
    (fields) => {
      const pretty = JSON.stringify(fields, null, 3);
      return [pretty, pretty.replaceAll("\n", "\r\n")];
    },
  ],
  ["Python requests, json= after compact dumps", "compact+unescaped", (fields, text) => [text, ascii(dumps(fields))]],
  ["Python's json.dumps, sent compact", "spaced+unicode_escaped", (fields, text) => [ascii(dumps(fields)), text]],
  ["Python's json.dumps without ensure_ascii, sent compact", "spaced", (fields, text) => [dumps(fields), text]],
  ["Python's json.dumps with sort_keys", "keys_sorted+spaced", (fields, text) => [dumps(sortedFields(fields)), text]],
  ["Python's json.dumps with indent=4", "indented", (fields, text) => [JSON.stringify(fields, null, 4), text]],
  [
    "PHP's json_encode, sent with JSON_UNESCAPED_*",
    "unicode_escaped+slashes_escaped",
    (fields, text) => [php(fields), text],
  ],
  [
    "PHP's JSON_UNESCAPED_UNICODE, sent without slashes escaped",
    "slashes_escaped",
    (_, text) => [text.replaceAll("/", "\\/"), text],
  ],
  ["Guzzle's json option", "unescaped", (fields, text) => [text, php(fields)]],
  ["Go's json.Marshal, sent as it is", "html_escaped", (fields, text) => [go(fields), text]],
  ["Go's map, with sorted keys", "keys_sorted+html_escaped", (fields, text) => [go(sortedFields(fields)), text]],
  ["Jackson's pretty printer", "indented_by_jackson", (fields, text) => [jackson(fields), text]],
  ["Gson", "gson_escaped", (_, text) => [escaped(/[<>&'](?![^"]*"sbs")|=/g)(text), text]],
  ["Gson's pretty printer without HTML escapes", "indented", (fields, text) => [JSON.stringify(fields, null, 2), text]],
  ["System.Text.Json", "dotnet_escaped", (fields, text) => [dotnet(fields), text]],
  [
    "System.Text.Json, indented on Windows",
    "indented+crlf",
    (fields, text) => [JSON.stringify(fields, null, 2).replaceAll("\n", "\r\n"), text],
  ],
  ["escapes with capital digits", "unicode_escaped_upper", (_, text) => [escaped(/[^\0-\x7f]/g, true)(text), text]],
  ["jq . after signing", "compact", (fields, text) => [text, `${JSON.stringify(fields, null, 2)}`]],
  [
    "jq -S . after signing",
    "keys_documented+compact",
    ({ title, ...fields }) => [compact(fields), JSON.stringify(sortedFields(fields), null, 2)],
  ],
  ["jq --tab before signing", "indented_by_tabs", (fields, text) => [JSON.stringify(fields, null, "\t"), text]],
  ["Postman's Beautify after signing", "compact", (fields, text) => [text, JSON.stringify(fields, null, 4)]],
  [
    "JavaScript's numbers",
    "numbers_rounded",
    (_, text) => {
      const sentText = text.replace('"customer/001"', "12345678901234567890");
      return [sentText.replace("12345678901234567890", "12345678901234567000"), sentText];
    },
  ],
  [
    "a key that is a number, moved by JavaScript",
    "keys_as_javascript",
    (fields, text) => [compact({ 7: 1, ...fields }), text.replace(/}$/, ',"7":1}')],
  ],
  ["a body that was not yet filled", "empty_object", (_, text) => ["{}", text]],
  ["a body that was read before", "empty", (_, text) => ["", text]],
  ["String(object)", "object_as_text", (_, text) => ["[object Object]", text]],
  ["a blank at the end", "blank_after", (_, text) => [`${text} `, text]],
  ["a BOM in the signed file", "bom", (_, text) => [`\ufeff${text}`, text]],
  ["JSON.stringify twice before signing", "quoted", (_, text) => [JSON.stringify(text), text]],
  ["str() of a Python dict", "python_text", (fields, text) => [pythonText(fields), text]],
  ["all blanks removed", "blanks_removed", (_, text) => [text.replace(/\s/g, ""), text]],
  ["encodeURIComponent before signing", "percent_encoded", (_, text) => [encodeURIComponent(text), text]],
  [
    "a form before signing",
    "form_encoded",
    (fields, text) => [pairs(fields, (each) => encodeURIComponent(each).replaceAll("%20", "+")), text],
  ],
  ["base64 before signing", "base64_signed", (_, text) => [encode(text).toBase64(), text]],
  ["getBytes() on Chinese Windows", "gbk", (_, text) => [gbkOf(text, GBK), text]],
  ["getBytes as ASCII", "question_marks", (_, text) => [text.replace(/[^\0-\x7f]/g, "?"), text]],
  ["utf8_encode of UTF-8", "utf8_twice", (_, text) => [String.fromCharCode(...encode(text)), text]],
  ["sorted pairs", "sorted_pairs", (fields, text) => [pairs(sortedFields(fields)), text]],
  [
    "sorted pairs with the key, as WeChat Pay wants it",
    "sorted_pairs_with_key",
    (fields, text, { secret }) => [`${pairs(sortedFields(fields))}&key=${secret}`, text],
  ],
  ["path and body", "path_first", (_, text) => [`/openapi/chat/create_gd${text}`, text]],
  ["timestamp and body, as Stripe wants it", "timestamp_first", (_, text, { now }) => [`${now}.${text}`, text]],
  [
    "appid, timestamp and ranstr alone",
    "some_fields",
    (fields, text) => [`${fields.appid}${fields.timestamp}${fields.ranstr}`, text],
  ],
  [
    "the appid added after signing",
    "appid_added",
    ({ appid, ...fields }) => [compact(fields), compact({ ...fields, appid })],
  ],
  [
    "timestamp and ranstr added after signing",
    "fields_added",
    ({ timestamp, ranstr, ...fields }) => [compact(fields), compact({ ...fields, timestamp, ranstr })],
  ],
  ["a trace id added by a proxy", "fields_added", (_, text) => [text, text.replace(/}$/, ',"trace":"x"}')]],
  ["a value changed after signing", "no_match", (_, text) => [text.replace("王伟", "李娜"), text]],
];

const pythonText = (fields: Body) =>
  `{${Object.entries(fields)
    .map(([key, each]) => {
      const value = Array.isArray(each)
        ? `[${each.join(", ")}]`
        : typeof each === "string"
          ? `'${each.replaceAll("'", "\\'")}'`
          : each;
      return `'${key}': ${value}`;
    })
    .join(", ")}}`;

/** Requests that are signed with another key, or by another computation. */
const COMPUTED_OTHERWISE: [
  name: string,
  cause: string,
  signature: (secret: string, text: string, right: RightRequest) => string | Promise<string>,
][] = [
  ["a secret read with its line feed", "secret_lf", (secret, text) => hmac(`${secret}\n`, text)],
  ["a secret read with CRLF", "secret_crlf", (secret, text) => hmac(`${secret}\r\n`, text)],
  ["a secret with a blank after it", "secret_blank_after", (secret, text) => hmac(`${secret} `, text)],
  ["a secret with a blank before it", "secret_blank_before", (secret, text) => hmac(` ${secret}`, text)],
  ["a secret in double quotes", "secret_double_quotes", (secret, text) => hmac(`"${secret}"`, text)],
  ["a secret in single quotes", "secret_single_quotes", (secret, text) => hmac(`'${secret}'`, text)],
  ["a secret in upper case", "secret_upper_case", (secret, text) => hmac(secret.toUpperCase(), text)],
  ["a secret decoded from hex", "secret_hex_decoded", (secret, text) => keyed(Uint8Array.fromHex(secret), text)],
  [
    "a secret decoded from base64",
    "secret_base64_decoded",
    (secret, text) => keyed(Uint8Array.fromBase64(secret), text),
  ],
  ["a secret encoded in base64", "secret_base64_encoded", (secret, text) => hmac(btoa(secret), text)],
  ["a secret without its last character", "secret_last_missing", (secret, text) => hmac(secret.slice(0, -1), text)],
  ["an empty secret", "secret_empty", (_, text) => keyed(new Uint8Array(1), text)],
  ["a secret that is undefined", "secret_undefined", (_, text) => hmac("undefined", text)],
  ["a secret that is null", "secret_null", (_, text) => hmac("null", text)],
  ["the appid as secret", "secret_appid", (_, text, { appid }) => hmac(appid, text)],
  ["the example's secret", "secret_example", (_, text) => hmac("YOUR_APP_SECRET", text)],
  ["another app's secret", "no_match", (_, text) => hmac("another app's secret", text)],
  ["a plain hash", "plain_hash", (_, text) => hash("SHA-256", text)],
  ["a hash of secret and body", "plain_hash", (secret, text) => hash("SHA-256", secret + text)],
  ["a SHA-1 of body and secret", "plain_hash", (secret, text) => hash("SHA-1", text + secret)],
  ["key and message swapped", "swapped", (secret, text) => hmac(text, secret)],
  ["an HMAC of the body's hash", "hash_signed", async (secret, text) => hmac(secret, await hash("SHA-256", text))],
  ["HMAC-SHA1", "other_hash", (secret, text) => keyed(secret, text, "SHA-1")],
  ["HMAC-SHA512", "other_hash", (secret, text) => keyed(secret, text, "SHA-512")],
  ["an MD5", "md5", () => "d41d8cd98f00b204e9800998ecf8427e"],
  ["the first half only", "truncated", async (secret, text) => (await hmac(secret, text)).slice(0, 32)],
];

/** Requests with a right signature in a wrong form. */
const WRITTEN_OTHERWISE: [name: string, cause: string, write: (hex: string) => string | undefined][] = [
  ["no signature", "missing", () => undefined],
  ["an empty signature", "missing", () => ""],
  ["base64", "base64", (hex) => Uint8Array.fromHex(hex).toBase64()],
  ["base64url", "base64", (hex) => Uint8Array.fromHex(hex).toBase64({ alphabet: "base64url", omitPadding: true })],
  ["base64 of the hex digits", "base64_of_hex", (hex) => btoa(hex)],
  ["hex of the hex digits", "hex_of_hex", (hex) => encode(hex).toHex()],
  ["sha256=", "prefix", (hex) => `sha256=${hex}`],
  ["v1=", "version", (hex) => `v1=${hex}`],
  ["Bearer", "bearer", (hex) => `Bearer ${hex}`],
  ["0x", "zero_x", (hex) => `0x${hex}`],
  ["openssl's line", "openssl", (hex) => `(stdin)= ${hex}`],
  ["openssl 3's line", "openssl", (hex) => `SHA2-256(stdin)= ${hex}`],
  ["openssl -r", "file_name", (hex) => `${hex} *stdin`],
  ["BitConverter.ToString", "dashes", (hex) => hex.toUpperCase().replace(/..(?=.)/g, "$&-")],
  ["colons", "colons", (hex) => hex.replace(/..(?=.)/g, "$&:")],
  ["quotes", "quoted", (hex) => `"${hex}"`],
  ["Python bytes", "python_bytes", (hex) => `b'${hex}'`],
  ["the header's name", "header_name", (hex) => `x-chat-signature: ${hex}`],
  ["two headers", "twice", (hex) => `${hex}, ${hex}`],
  ["one digit too few", "truncated", (hex) => hex.slice(0, -1)],
  ["a JSON Web Token", "jwt", () => "eyJhbGciOiJIUzI1NiJ9.e30.c2ln"],
  ["a placeholder", "unreadable", () => "{{signature}}"],
];

/** Bodies that are no JSON object with an appid, each with a right signature. */
const NO_BODIES: [name: string, cause: string, body: (text: string, fields: Body) => Text][] = [
  ["an empty body", "empty", () => ""],
  ["a form under the type of JSON", "url_encoded", (_, fields) => pairs(fields, encodeURIComponent)],
  ["percent-encoded JSON", "percent_encoded_body", (text) => encodeURIComponent(text)],
  ["XML", "xml", () => "<xml><appid>a</appid></xml>"],
  ["a file's name", "file_name", () => "@body.json"],
  ["an object as text", "object_as_text", () => "[object Object]"],
  ["undefined", "variable_not_set", () => "undefined"],
  ["single quotes of cmd.exe", "quoted_by_shell", (text) => `'${text}'`],
  ["quotes eaten by the shell", "key_unquoted", (text) => text.replaceAll('"', "")],
  ["quotes with backslashes", "backslashed_quotes", (text) => text.replaceAll('"', '\\"')],
  ["HTML entities", "html_entities", (text) => text.replaceAll('"', "&quot;")],
  ["base64", "base64_body", (text) => encode(text).toBase64()],
  ["a Python dict", "single_quotes", (_, fields) => pythonText(fields)],
  ["Python's None", "python_words", (text) => text.replace(/}$/, ',"title":None}')],
  ["a trailing comma", "trailing_comma", (text) => text.replace(/}$/, ",}")],
  ["a comment", "comment", (text) => text.replace(",", ", // the caller\n")],
  ["curly quotes", "wrong_quotes", (text) => text.replace('{"appid"', "{“appid”")],
  ["a full-width comma", "full_width", (text) => text.replace(',"', '，"')],
  ["a line end within a text", "control_character", (text) => text.replace("王伟", "王\n伟")],
  ["a backslash of a path", "bad_string", (text) => text.replace("王伟", "C:\\王")],
  ["two objects", "concatenated", (text) => `${text}${text}`],
  ["more text after the object", "text_after", (text) => `${text};`],
  ["a cut body", "cut_off", (text) => text.slice(0, -10)],
  ["a leading zero", "bad_number", (text) => text.replace('"fzr_uid":', '"fzr_uid":0')],
  ["JSON in JSON", "json_in_json", (text) => JSON.stringify(text)],
  ["an array", "array", (text) => `[${text}]`],
  ["null", "no_object", () => "null"],
  ["a BOM", "bom", (text) => `\ufeff${text}`],
  ["GBK", "gbk", (text) => gbkOf(text, GBK)],
  ["UTF-16 of PowerShell", "utf16", (text) => utf16(text)],
  ["gzip", "compressed", () => Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0)],
  ["half a character", "not_utf8", (text) => encode(text).slice(0, encode(text).indexOf(0xe7) + 1)],
  ["no appid", "appid_missing", (_, fields) => compact({ ...fields, appid: undefined })],
  ["appId", "appid_named_otherwise", (text) => text.replace('"appid"', '"appId"')],
  ["a number as appid", "appid_number", (_, fields) => compact({ ...fields, appid: 42 })],
  ["null as appid", "appid_not_text", (_, fields) => compact({ ...fields, appid: null })],
  ["an empty appid", "appid_empty", (_, fields) => compact({ ...fields, appid: "" })],
  ["an appid of 65 characters", "appid_too_long", (_, fields) => compact({ ...fields, appid: "x".repeat(65) })],
  ["64 KiB and more", "size_too_large", (_, fields) => compact({ ...fields, more: "x".repeat(65_536) })],
];

/** Signed bodies with a wrong field. */
const WRONG_FIELDS: [name: string, cause: string, change: (right: RightRequest) => Body][] = [
  ["a blank after the appid", "appid_blank", ({ appid }) => ({ appid: `${appid} ` })],
  ["the appid in upper case", "appid_case", ({ appid }) => ({ appid: appid.toUpperCase() })],
  ["another environment's appid", "appid_other", () => ({ appid: "of-staging" })],
  ["milliseconds", "timestamp_milliseconds", ({ now }) => ({ timestamp: now * 1000 })],
  ["microseconds", "timestamp_microseconds", ({ now }) => ({ timestamp: now * 1_000_000 })],
  ["a date as digits", "timestamp_date", () => ({ timestamp: 20270115080000 })],
  ["local time in Shanghai", "timestamp_local_time", ({ now }) => ({ timestamp: now + 8 * 3_600 })],
  ["local time in Mumbai", "timestamp_local_time", ({ now }) => ({ timestamp: now + 5.5 * 3_600 - 2 })],
  ["local time in New York", "timestamp_old_local_time", ({ now }) => ({ timestamp: now - 5 * 3_600 })],
  ["a clock ahead", "timestamp_ahead", ({ now }) => ({ timestamp: now + 900 })],
  ["a clock behind", "timestamp_old", ({ now }) => ({ timestamp: now - 900 })],
  ["the uptime", "timestamp_too_small", () => ({ timestamp: 86_400 })],
  ["a timestamp as text", "freshness_form", ({ now }) => ({ timestamp: String(now) })],
  ["Python's time.time()", "freshness_form", ({ now }) => ({ timestamp: now + 0.25 })],
  ["no timestamp", "freshness_form", () => ({ timestamp: undefined })],
  ["no ranstr", "freshness_form", () => ({ ranstr: undefined })],
  ["a number as ranstr", "freshness_form", () => ({ ranstr: 12345 })],
  ["agents as text", "fields_wrong", () => ({ kefu_id: "1,2" })],
  ["agents as texts", "fields_wrong", () => ({ kefu_id: ["1", "2"] })],
  ["an empty title", "fields_wrong", () => ({ title: "" })],
  ["no ip", "fields_wrong", () => ({ ip: "" })],
  ["a responsible agent who is not listed", "fields_wrong", () => ({ fzr_uid: 3 })],
];

/** Requests with other headers; the body and its signature are right. */
const OTHER_HEADERS: [name: string, cause: string, headers: Record<string, string | null>][] = [
  ["no Content-Type", "type_absent", { "content-type": null }],
  ["text/plain of fetch", "type_text", { "content-type": "text/plain;charset=UTF-8" }],
  ["a form's type of curl -d", "type_form", { "content-type": "application/x-www-form-urlencoded" }],
  ["application/vnd.api+json", "type_other_json", { "content-type": "application/vnd.api+json" }],
  ["two types", "type_other_json", { "content-type": "application/json, text/plain" }],
  ["application/octet-stream", "type_other", { "content-type": "application/octet-stream" }],
  ["Content-Encoding: gzip", "encoding_present", { "content-encoding": "gzip" }],
  ["Content-Encoding: utf-8", "encoding_present", { "content-encoding": "utf-8" }],
  ["an empty Idempotency-Key", "key_empty", { "idempotency-key": "" }],
  ["a blank in the Idempotency-Key", "key_blank", { "idempotency-key": "order 7" }],
  ["an Idempotency-Key of 256 characters", "key_too_long", { "idempotency-key": "x".repeat(256) }],
];

const OTHERS: PastedRequest[] = [
  {
    name: "a form with its own type",
    cause: "type_form",
    make: async (right) =>
      sign(right, pairs(right.create(), encodeURIComponent), undefined, {
        headers: { "content-type": "application/x-www-form-urlencoded" },
      }),
  },
  {
    name: "agents with a full-width comma",
    cause: "fields_wrong",
    make: async (right) => sign(right, compact(right.add({ kefu_ids: "1，2" })), undefined, { operation: "add_kf" }),
  },
  {
    name: "a body of create_gd sent to add_kf",
    cause: "fields_wrong",
    make: async (right) => sign(right, compact(right.create()), undefined, { operation: "add_kf" }),
  },
  {
    name: "add_kf signed with its line feed",
    cause: "lf_signed",
    make: async (right) => {
      const text = compact(right.add());
      return sign(right, `${text}\n`, text, { operation: "add_kf" });
    },
  },
];

/** Requests with two mistakes. The server names the one that it checks first. */
const DOUBLE: PastedRequest[] = [
  {
    name: "no Content-Type, and a wrong secret",
    cause: "type_absent",
    make: async (right) => ({
      ...(await sign({ ...right, secret: "wrong" }, compact(right.create()))),
      headers: { "content-type": null },
    }),
  },
  {
    name: "text/plain, and over 64 KiB",
    cause: "type_text",
    make: async (right) => sign(right, "x".repeat(70_000), undefined, { headers: { "content-type": "text/plain" } }),
  },
  {
    name: "a BOM, and base64",
    cause: "bom",
    make: async (right) => ({ body: `\ufeff${compact(right.create())}`, signature: "A".repeat(43) }),
  },
  {
    name: "no JSON, and no signature",
    cause: "trailing_comma",
    make: (right) => ({ body: compact(right.create()).replace(/}$/, ",}"), signature: undefined }),
  },
  {
    name: "a line feed signed, and milliseconds",
    cause: "lf_signed",
    make: async (right) => {
      const text = compact(right.create({ timestamp: right.now * 1000 }));
      return sign(right, `${text}\n`, text);
    },
  },
  {
    name: "a secret in quotes, and wrong fields",
    cause: "secret_double_quotes",
    make: async (right) => {
      const text = compact(right.create({ kefu_id: "1" }));
      return sign({ ...right, secret: `"${right.secret}"` }, text, text);
    },
  },
  {
    name: "milliseconds, and wrong fields",
    cause: "timestamp_milliseconds",
    make: async (right) => sign(right, compact(right.create({ timestamp: right.now * 1000, sbs: "" }))),
  },
  {
    name: "wrong fields, and an empty Idempotency-Key",
    cause: "fields_wrong",
    make: async (right) =>
      sign(right, compact(right.create({ sbs: "" })), undefined, { headers: { "idempotency-key": "" } }),
  },
  {
    name: "an appid in upper case, and a wrong secret",
    cause: "appid_case",
    make: async (right) =>
      sign({ ...right, secret: "wrong" }, compact(right.create({ appid: right.appid.toUpperCase() }))),
  },
  {
    name: "base64, over the body with a line feed",
    cause: "base64",
    make: async (right) => {
      const text = compact(right.create());
      const hex = await hmac(right.secret, `${text}\n`);
      return { body: text, signature: Uint8Array.fromHex(hex).toBase64() };
    },
  },
];

const ACCEPTED: PastedRequest[] = [
  { name: "a right request", cause: "accepted", make: (right) => sign(right, compact(right.create(REALISTIC))) },
  {
    name: "a right request of add_kf",
    cause: "accepted",
    make: (right) => sign(right, compact(right.add()), undefined, { operation: "add_kf" }),
  },
  {
    name: "Python's json.dumps, signed and sent",
    cause: "accepted",
    make: (right) => sign(right, ascii(dumps(right.create(REALISTIC)))),
  },
  {
    name: "an indented body with CRLF and a line end",
    cause: "accepted",
    make: (right) => sign(right, `${JSON.stringify(right.create(), null, 2).replaceAll("\n", "\r\n")}\r\n`),
  },
  {
    name: "a signature in upper case",
    cause: "accepted",
    make: async (right) => {
      const request = await sign(right, compact(right.create()));
      return { ...request, signature: request.signature?.toUpperCase() };
    },
  },
  {
    name: "blanks around the signature",
    cause: "accepted",
    make: async (right) => {
      const request = await sign(right, compact(right.create()));
      return { ...request, signature: ` ${request.signature} ` };
    },
  },
  {
    name: "a charset, in another case",
    cause: "accepted",
    make: (right) =>
      sign(right, compact(right.create()), undefined, {
        headers: { "content-type": "Application/JSON; charset=utf-8" },
      }),
  },
  {
    name: "blanks around the headers",
    cause: "accepted",
    make: (right) =>
      sign(right, compact(right.create()), undefined, {
        headers: { "content-type": " application/json ", "idempotency-key": ` ${crypto.randomUUID()}\t` },
      }),
  },
  {
    name: "digits beyond 2^53",
    cause: "accepted",
    make: (right) => sign(right, compact(right.create()).replace('"customer_001"', "12345678901234567890")),
  },
  {
    name: "a timestamp at the edge",
    cause: "accepted",
    make: (right) => sign(right, compact(right.create({ timestamp: right.now - 300 }))),
  },
  {
    name: "an Idempotency-Key and fields of no meaning",
    cause: "accepted",
    make: (right) =>
      sign(right, compact(right.create({ trace: { a: [null, true] } })), undefined, {
        headers: { "idempotency-key": crypto.randomUUID() },
      }),
  },
];

export const PASTED_REQUESTS: readonly PastedRequest[] = [
  ...ACCEPTED,
  ...SIGNED_OTHERWISE.map(
    ([name, cause, make]): PastedRequest => ({
      name,
      cause,
      make: (right) => {
        const fields = right.create(REALISTIC);
        return sign(right, ...make(fields, compact(fields), right));
      },
    }),
  ),
  ...COMPUTED_OTHERWISE.map(
    ([name, cause, signature]): PastedRequest => ({
      name,
      cause,
      make: async (right) => {
        const body = compact(right.create(REALISTIC));
        return { body, signature: await signature(right.secret, body, right) };
      },
    }),
  ),
  ...WRITTEN_OTHERWISE.map(
    ([name, cause, write]): PastedRequest => ({
      name: `the signature as ${name}`,
      cause,
      make: async (right) => {
        const body = compact(right.create(REALISTIC));
        return { body, signature: write(await hmac(right.secret, body)) };
      },
    }),
  ),
  ...NO_BODIES.map(
    ([name, cause, body]): PastedRequest => ({
      name: `the body: ${name}`,
      cause,
      make: (right) => {
        const fields = right.create(REALISTIC);
        return sign(right, body(compact(fields), fields));
      },
    }),
  ),
  ...WRONG_FIELDS.map(
    ([name, cause, change]): PastedRequest => ({
      name: `the fields: ${name}`,
      cause,
      make: (right) => sign(right, compact(right.create(change(right)))),
    }),
  ),
  ...OTHER_HEADERS.map(
    ([name, cause, headers]): PastedRequest => ({
      name: `the headers: ${name}`,
      cause,
      make: (right) => sign(right, compact(right.create()), undefined, { headers }),
    }),
  ),
  ...OTHERS,
  ...DOUBLE,
];
