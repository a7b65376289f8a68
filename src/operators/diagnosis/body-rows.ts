import {
  asPython,
  formEncoded,
  htmlEscaped,
  joined,
  leavesChanged,
  type MadeBody,
  type MakerInput,
  onlyJson,
  onlyNonAscii,
  queriesOf,
  quoted,
  sortedPairs,
  unquoted,
  utf16,
  wellFormed,
  withoutBlanks,
  withSecret,
} from "./body-makers.ts";
import { asLatin1, encode, encodeGbk, latin1, toBase64 } from "./encodings.ts";

/** What callers sign in place of the sent text. One row is tried at a time. */
interface BodyRow<Also extends string[] = []> {
  name: string;
  words: string;
  makes: ((body: MakerInput, ...also: Also) => MadeBody | string[])[];
}

/** Each row: what was signed in place of the body, and the words for its sender. */
export const BODY_ROWS: readonly BodyRow[] = [
  {
    name: "empty",
    words:
      "The signature is over an empty text: the body was not yet there, or was read before, when it was signed. Sign the body.",
    makes: [() => ""],
  },
  {
    name: "empty_object",
    words: "The signature is over {}: the body was still empty when it was signed. Sign the finished body.",
    makes: [() => "{}"],
  },
  {
    name: "object_as_text",
    words:
      "The signature is over “[object Object]”: an object was signed in place of its JSON. Serialise first; sign and send that text.",
    makes: [() => "[object Object]"],
  },
  {
    name: "undefined_signed",
    words: "The signature is over the word undefined: the variable with the body was not set when it was signed.",
    makes: [() => "undefined"],
  },
  {
    name: "null_signed",
    words: "The signature is over the word null: the variable with the body was not set when it was signed.",
    makes: [() => "null"],
  },
  {
    name: "bom",
    words:
      "The signature is over the body with a byte order mark (BOM) before it. Write the body in UTF-8 without BOM, and sign exactly what you send.",
    makes: [({ text }) => `\ufeff${text}`],
  },
  {
    name: "bom_removed",
    words: "The body was sent with a byte order mark (BOM) before it, and signed without it.",
    makes: [({ text }) => (text.startsWith("\ufeff") ? text.slice(1) : undefined)],
  },
  {
    name: "blank_before",
    words: "The signature is over the body with a blank before it. Sign exactly what you send.",
    makes: [({ text }) => ` ${text}`],
  },
  {
    name: "blank_after",
    words: "The signature is over the body with a blank or a tab after it. Sign exactly what you send.",
    makes: [({ text }) => `${text} `, ({ text }) => `${text}\t`],
  },
  {
    name: "nul_after",
    words: "The signature is over the body with a zero byte after it: the end mark of a C string was signed too.",
    makes: [({ text }) => `${text}\0`],
  },
  {
    name: "trimmed",
    words: "The body was sent with blanks around it, and signed without them. Sign exactly what you send.",
    makes: [({ text }) => text.trim()],
  },
  {
    name: "blanks_removed",
    words: "The signature is over the body without any blanks, those inside values too. Sign the body as it is sent.",
    makes: [withoutBlanks],
  },
  {
    name: "quoted",
    words:
      "The signature is over the body as a JSON string, in quotes and with escapes: it was serialised twice before it was signed. Serialise once.",
    makes: [({ text }) => JSON.stringify(text)],
  },
  {
    name: "slashes_added",
    words: "The signature is over the body with backslashes before its quotes. Sign the body as it is sent.",
    makes: [({ text }) => text.replace(/["'\\]/g, "\\$&")],
  },
  {
    name: "html_entities",
    words:
      "The signature is over the body with &quot; in place of quotes: a filter for HTML changed it. Sign the body as it is sent.",
    // PHP escapes the second way.
    makes: [({ text }) => htmlEscaped(text), ({ text }) => htmlEscaped(text).replaceAll("'", "&#039;")],
  },
  {
    name: "percent_encoded",
    words:
      "The signature is over the percent-encoded body. Sign the body as it is sent, without encoding it for an address.",
    makes: [({ text }) => encodeURIComponent(wellFormed(text)), ({ text }) => encodeURI(wellFormed(text))],
  },
  {
    name: "form_encoded",
    words: "The signature is over the body as a form encodes it, with + for blanks. Sign the body as it is sent.",
    makes: [
      ({ text }) => formEncoded(wellFormed(text)),
      onlyJson((_, { pairs }) => joined(pairs, (each) => formEncoded(wellFormed(each)))),
    ],
  },
  {
    name: "base64_signed",
    words: "The signature is over the body in base64. Sign the body itself.",
    makes: [({ text }) => toBase64(encode(text))],
  },
  {
    name: "lower_case",
    words: "The signature is over the body in lower case. Sign the body as it is sent.",
    makes: [({ text }) => text.toLowerCase()],
  },
  {
    name: "upper_case",
    words: "The signature is over the body in upper case. Sign the body as it is sent.",
    makes: [({ text }) => text.toUpperCase()],
  },
  {
    name: "nfc",
    words: "The signature is over the body in another Unicode normal form (NFC). Sign the very bytes you send.",
    makes: [onlyNonAscii((text) => text.normalize("NFC"))],
  },
  {
    name: "nfd",
    words: "The signature is over the body in another Unicode normal form (NFD). Sign the very bytes you send.",
    makes: [onlyNonAscii((text) => text.normalize("NFD"))],
  },
  {
    name: "gbk",
    words:
      "The signature is over the body in GBK; it was sent in UTF-8. Name UTF-8 when you turn the text into bytes, as in getBytes(StandardCharsets.UTF_8).",
    makes: [onlyNonAscii(encodeGbk)],
  },
  {
    name: "utf16",
    words: "The signature is over the body in UTF-16. Turn the text into bytes as UTF-8.",
    makes: [({ text }) => utf16(text)],
  },
  {
    name: "question_marks",
    words:
      "The signature is over the body with ? in place of other characters than ASCII: it was turned into bytes as ASCII or ISO-8859-1. Name UTF-8 there.",
    makes: [
      onlyNonAscii((text) => text.replace(/[^\0-\x7f]/gu, "?")),
      onlyNonAscii((text) => latin1(text.replace(/[^\0-\xff]/gu, "?"))),
    ],
  },
  {
    name: "utf8_twice",
    words: "The signature is over the body encoded in UTF-8 twice. Encode it once.",
    makes: [onlyNonAscii((text) => encode(asLatin1(encode(text))))],
  },
  {
    name: "python_text",
    words:
      "The signature is over the text of a Python dict, with single quotes. Sign the JSON that is sent: json.dumps once, for both.",
    makes: [onlyJson((tree) => asPython(tree))],
  },
  {
    name: "java_text",
    words: "The signature is over the text of a Java Map, as {appid=…}. Sign the JSON that is sent.",
    makes: [onlyJson((_, { pairs }) => `{${joined(pairs).replaceAll("&", ", ")}}`)],
  },
  {
    name: "numbers_quoted",
    words: "The signature is over the JSON with its numbers as strings. Serialise once; sign and send that very text.",
    makes: [onlyJson(leavesChanged(quoted))],
  },
  {
    name: "numbers_unquoted",
    words:
      "The signature is over the JSON with numbers where strings were sent. Serialise once; sign and send that very text.",
    makes: [onlyJson(leavesChanged(unquoted))],
  },
  {
    name: "sorted_pairs",
    words:
      "The signature is over sorted pairs like a=1&b=2. This API signs the JSON body itself, exactly as it is sent.",
    makes: [
      (body) => queriesOf(body, "sorted"),
      (body) => queriesOf(body, "sorted", "as JSON").flatMap((query) => [`${body.path}?${query}`, `?${query}`]),
    ],
  },
  {
    name: "pairs",
    words: "The signature is over pairs like a=1&b=2. This API signs the JSON body itself, exactly as it is sent.",
    makes: [
      (body) => queriesOf(body, "as sent"),
      (body) => queriesOf(body, "as sent", "as JSON").flatMap((query) => [`${body.path}?${query}`, `?${query}`]),
    ],
  },
  {
    name: "sorted_values",
    words:
      "The signature is over the sorted values put together. This API signs the JSON body itself, exactly as it is sent.",
    makes: [
      onlyJson((_, body) =>
        sortedPairs(body)
          .map(([, value]) => value)
          .join(""),
      ),
      onlyJson((_, body) =>
        sortedPairs(body)
          .map(([name, value]) => name + value)
          .join(""),
      ),
    ],
  },
  {
    name: "some_fields",
    words: "The signature is over appid, timestamp and ranstr only. Sign the whole body, exactly as it is sent.",
    makes: [
      onlyJson((_, { field }) => field("appid") + field("timestamp") + field("ranstr")),
      onlyJson((_, { field }) => `appid=${field("appid")}&ranstr=${field("ranstr")}&timestamp=${field("timestamp")}`),
      onlyJson((_, { field }) => `appid=${field("appid")}&timestamp=${field("timestamp")}&ranstr=${field("ranstr")}`),
    ],
  },
  {
    name: "path_first",
    words: "The signature is over the path and the body. Sign the body alone.",
    makes: [
      ({ path, text }) => path + text,
      ({ path, text }) => `${path}\n${text}`,
      ({ path, text }) => `POST${path}${text}`,
      ({ path, text }) => `POST\n${path}\n${text}`,
    ],
  },
  {
    name: "timestamp_first",
    words: "The signature is over the timestamp and the body, as some other APIs want it. Sign the body alone.",
    makes: [
      onlyJson((_, { text, field }) => `${field("timestamp")}.${text}`),
      onlyJson((_, { text, field }) => field("timestamp") + text),
      onlyJson((_, { text, field }) => `${field("timestamp")}\n${text}`),
      onlyJson((_, { text, field }) => field("timestamp") + field("ranstr") + text),
      onlyJson((_, { path, text, field }) => `POST\n${path}\n${field("timestamp")}\n${field("ranstr")}\n${text}\n`),
    ],
  },
  {
    name: "timestamp_last",
    words: "The signature is over the body with timestamp or ranstr after it. Sign the body alone.",
    makes: [
      onlyJson((_, { text, field }) => text + field("timestamp")),
      onlyJson((_, { text, field }) => text + field("timestamp") + field("ranstr")),
    ],
  },
  {
    name: "appid_first",
    words: "The signature is over the appid and the body. Sign the body alone.",
    makes: [onlyJson((_, { text, field }) => field("appid") + text)],
  },
];

/** Each row: what was signed together with the secret. */
export const BODY_AND_SECRET_ROWS: readonly BodyRow<[secret: string]>[] = [
  {
    name: "secret_in_text",
    words:
      "The signature is over a text that holds the secret too. The secret is the key of the HMAC only; the body alone is its message.",
    makes: [({ text }, secret) => text + secret, ({ text }, secret) => secret + text],
  },
  {
    name: "sorted_pairs_with_key",
    words:
      "The signature is over sorted pairs and the secret, as in &key=, as some payment APIs want it. This API signs the JSON body itself, exactly as it is sent.",
    makes: [(body, secret) => withSecret(queriesOf(body, "sorted", "as JSON"), secret)],
  },
  {
    name: "pairs_with_key",
    words:
      "The signature is over pairs like a=1&b=2 and the secret, as in &key=. This API signs the JSON body itself, exactly as it is sent.",
    makes: [(body, secret) => withSecret(queriesOf(body, "as sent", "as JSON"), secret)],
  },
];
