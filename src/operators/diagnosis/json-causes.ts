import { isCompressed, isUtf16 } from "../../core/parse-json.ts";
import { decodeStrictly } from "./encodings.ts";
import { type JsonTreeMistake, readMistake } from "./json-tree.ts";
import type { Finding } from "./words.ts";

const UTF16 = "The body is UTF-16, as PowerShell writes files. Send it in UTF-8.";

/** Why bytes are not UTF-8. */
const BYTES_ROWS: readonly { name: string; words: string; is: (bytes: Uint8Array) => boolean }[] = [
  {
    name: "compressed",
    words: "The body is compressed. Send it as it is, and without Content-Encoding.",
    is: isCompressed,
  },
  { name: "utf16", words: UTF16, is: isUtf16 },
  {
    name: "gbk",
    words: "The body is in GBK. Turn the text into bytes as UTF-8.",
    is: (bytes) => /[\u4e00-\u9fff]{2}/.test(decodeStrictly(bytes, "gbk") ?? ""),
  },
  {
    name: "not_utf8",
    words: "The body is not UTF-8. Turn the text into bytes as UTF-8, and do not cut it within a character.",
    is: () => true,
  },
];

/** Why a text is no JSON, when its overall form shows the cause. */
const TEXT_ROWS: readonly { name: string; words: string; is: (text: string) => boolean }[] = [
  { name: "empty", words: "The body is empty.", is: (text) => text.trim() === "" },
  // ASCII in UTF-16 is UTF-8 with zeros.
  { name: "utf16", words: UTF16, is: (text) => /^.?\0/.test(text) },
  {
    name: "url_encoded",
    words: "The body is URL-encoded, as a form sends it. Send JSON.",
    is: (text) => /^[\w.[\]-]+=[^\s]*$/.test(text.trim()),
  },
  {
    name: "multipart",
    words: "The body is a form in parts (multipart/form-data). Send JSON.",
    is: (text) => /^--\S+\r?\ncontent-disposition:/i.test(text),
  },
  {
    name: "percent_encoded_body",
    words: "The body is percent-encoded JSON. Send the JSON itself.",
    is: (text) => /^%(?:7b|22)/i.test(text.trim()),
  },
  { name: "xml", words: "The body is XML or HTML. Send JSON.", is: (text) => text.trim().startsWith("<") },
  {
    name: "file_name",
    words: "The body is the name of a file, not its content: curl reads a file only as --data-binary @FILE.",
    is: (text) => /^@\S+$/.test(text.trim()),
  },
  {
    name: "object_as_text",
    words: "The body is “[object Object]”: an object was sent in place of its JSON. Serialise it first.",
    is: (text) => text.trim() === "[object Object]",
  },
  {
    name: "variable_not_set",
    words: "The body is the word undefined: the variable with the body was not set.",
    is: (text) => /^(?:undefined|None|nil|NaN)$/.test(text.trim()),
  },
  {
    name: "quoted_by_shell",
    words: "Single quotes stand around the body: the shell of Windows sends them too. Send the body from a file.",
    is: (text) => /^'\s*[{[].*'$/s.test(text.trim()),
  },
  {
    name: "html_entities",
    words: "The body has &quot; in place of quotes: a filter for HTML changed it. Send it without.",
    is: (text) => /^\s*\{\s*&(?:quot|#34);/.test(text),
  },
  {
    name: "base64_body",
    words: "The body is base64. Send the JSON itself.",
    is: (text) => /^eyJ[\w+/=-]+$/.test(text.trim()),
  },
];

/** Why a text is no JSON, by its first fault. */
const MISTAKE_WORDS: Record<JsonTreeMistake, string> = {
  cut_off:
    "The JSON is cut off: it ends before its last bracket. Was the body sent whole, or is a Content-Length counted in characters in place of bytes?",
  trailing_comma: "A comma stands before a closing bracket, at character {0}. JSON has none there.",
  comma_missing: "A comma is missing at character {0}, or a quote within a text has no backslash before it.",
  comment: "A comment stands at character {0}. JSON has no comments.",
  control_character:
    "A line end or another control character stands within a text, at character {0}. Write it as \\n: let a JSON library write the body.",
  key_unquoted:
    "The name of a field has no double quotes, at character {0}: the shell took them away, or it is JavaScript and not JSON.",
  single_quotes:
    "The body has single quotes, at character {0}. JSON has double quotes: is it the text of a Python dict?",
  wrong_quotes: "The body has curly quotes, at character {0}, as word processors write them. JSON has straight ones.",
  full_width: "The body has a full-width comma, colon or bracket, at character {0}. JSON has those of ASCII.",
  backslashed_quotes: "The quotes have backslashes before them, at character {0}: the body was escaped once too often.",
  python_words:
    "The body has True, False or None of Python, at character {0}. JSON has true, false and null: use json.dumps.",
  no_json_value: "The body is not JSON, from character {0} on.",
  bad_number:
    "A number is not written as JSON has it, at character {0}: no leading zeros, no plus, no thousands separators.",
  bad_string: "A backslash in a text begins no escape of JSON, at character {0}. Write it twice.",
  concatenated: "Two JSON objects stand one after the other, the second at character {0}. Send one.",
  text_after: "More text stands after the JSON, from character {0} on.",
  too_deep: "The body is not JSON.",
};

const NOT_AN_OBJECT: readonly { name: string; words: string; is: (value: unknown) => boolean }[] = [
  {
    name: "json_in_json",
    words: "The body is a JSON string that holds JSON: it was serialised twice. Serialise once.",
    is: (value) => typeof value === "string",
  },
  { name: "array", words: "The body is a JSON array. Send one object for each call.", is: Array.isArray },
  { name: "no_object", words: "The body is a JSON value, but no object.", is: () => true },
];

export const JSON_TEXTS: readonly string[] = [
  ...[...BYTES_ROWS, ...TEXT_ROWS, ...NOT_AN_OBJECT].map(({ words }) => words),
  ...Object.values(MISTAKE_WORDS),
];

const findingOfRow = (row: Finding | undefined): Finding | undefined => row && { name: row.name, words: row.words };

export const causeOfBytes = (bytes: Uint8Array): Finding | undefined =>
  findingOfRow(BYTES_ROWS.find(({ is }) => is(bytes)));

/** Why a text is no JSON, when its overall form shows the cause; undefined for a text that may be JSON. */
export const formOfText = (text: string): Finding | undefined => findingOfRow(TEXT_ROWS.find(({ is }) => is(text)));

/** Why a text is no JSON. Characters count from 1. */
export function causeOfText(text: string): Finding {
  const form = formOfText(text);
  if (form !== undefined) return form;
  const { mistake, at } = readMistake(text);
  return { name: mistake, words: MISTAKE_WORDS[mistake], values: [at + 1] };
}

/** Why a JSON text is no object. */
export function causeOfValue(text: string): Finding | undefined {
  const value: unknown = JSON.parse(text);
  return findingOfRow(NOT_AN_OBJECT.find(({ is }) => is(value)));
}
