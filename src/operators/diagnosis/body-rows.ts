import { asLatin1, type Bytes, encode, encodeGbk, latin1, toBase64 } from "./encodings.ts";
import { type Layout, type Tree, writeTree } from "./json-tree.ts";
import { layoutOf } from "./rewritings.ts";

/** The pasted body, and what its variants are made from. */
export interface PastedBody {
  text: string;
  /** The bytes, when they are not the text in UTF-8. */
  bytes: Bytes | undefined;
  /** Whether the line ends are those that were sent. A form does not keep them. */
  lineEndsKept: boolean;
  /** Undefined for a text that is no JSON object. */
  tree: Extract<Tree, { kind: "object" }> | undefined;
  path: string;
}

export type Made = string | Bytes | undefined;

/** Other things than the sent text that callers sign. One of them is tried at a time. */
interface Row {
  name: string;
  words: string;
  makes: ((body: Given) => Made)[];
}

export interface Given extends PastedBody {
  /** The values of the top-level fields as text: strings without quotes, all else as JSON. */
  pairs: [string, string][];
  field: (name: string) => string;
}

const joined = (pairs: [string, string][], encodeEach = (text: string) => text) =>
  pairs.map(([name, value]) => `${name}=${encodeEach(value)}`).join("&");
const sortedPairs = ({ pairs }: Given) => pairs.toSorted(([a], [b]) => (a < b ? -1 : 1));
const formEncoded = (text: string) => encodeURIComponent(text).replaceAll("%20", "+");

const NON_ASCII = /[^\0-\x7f]/u;
const onlyNonAscii =
  (make: (text: string) => Made) =>
  ({ text }: Given) =>
    NON_ASCII.test(text) ? make(text) : undefined;
const onlyJson = (make: (tree: Tree, body: Given) => Made) => (body: Given) => body.tree && make(body.tree, body);

/** Each row: what was signed in place of the body, and what its sender is told. */
export const BODY_ROWS: readonly Row[] = [
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
    words: "The signature is over the body with a blank after it. Sign exactly what you send.",
    makes: [({ text }) => `${text} `],
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
    makes: [({ text }) => htmlEscaped(text)],
  },
  {
    name: "html_entities_php",
    words:
      "The signature is over the body with &quot; in place of quotes: a filter for HTML changed it. Sign the body as it is sent.",
    makes: [({ text }) => htmlEscaped(text).replaceAll("'", "&#039;")],
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
      onlyJson((_, body) => joined(sortedPairs(body))),
      onlyJson((_, body) => joined(sortedPairs(body), encodeURIComponent)),
      onlyJson((_, body) => joined(sortedPairs(body).filter(([, value]) => value !== ""))),
    ],
  },
  {
    name: "pairs",
    words: "The signature is over pairs like a=1&b=2. This API signs the JSON body itself, exactly as it is sent.",
    makes: [onlyJson((_, { pairs }) => joined(pairs))],
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

/** What is signed together with the secret. */
export const BODY_AND_SECRET_ROWS: readonly {
  name: string;
  words: string;
  makes: ((body: Given, secret: string) => Made)[];
}[] = [
  {
    name: "secret_in_text",
    words:
      "The signature is over a text that holds the secret too. The secret is the key of the HMAC only; the body alone is its message.",
    makes: [({ text }, secret) => text + secret, ({ text }, secret) => secret + text],
  },
  {
    name: "sorted_pairs_with_key",
    words:
      "The signature is over sorted pairs with &key= and the secret at their end, as some payment APIs want it. This API signs the JSON body itself, exactly as it is sent.",
    makes: [
      onlyJsonWithSecret(
        (body, secret) => `${joined(sortedPairs(body).filter(([, value]) => value !== ""))}&key=${secret}`,
      ),
    ],
  },
];

export const COMPACT: Layout = { comma: ",", colon: ":" };

/** Undefined where no value has a blank: then it is what a library writes, and is found among the rewritings. */
function withoutBlanks({ text, tree }: Given): Made {
  const bare = text.replace(/\s+/g, "");
  return tree !== undefined && bare === writeTree(tree, COMPACT, ({ raw }) => raw) ? undefined : bare;
}

/** What the rows are made from. */
export function givenOf(body: PastedBody): Given {
  const pairs: [string, string][] = (body.tree?.members ?? []).map(({ key, value }) => {
    return [key.value, value.kind === "string" ? value.value : writeTree(value, COMPACT, ({ raw }) => raw)];
  });
  return { ...body, pairs, field: (name) => pairs.findLast(([each]) => each === name)?.[1] ?? "" };
}

function onlyJsonWithSecret(make: (body: Given, secret: string) => Made) {
  return (body: Given, secret: string) => (body.tree === undefined ? undefined : make(body, secret));
}

const wellFormed = (text: string) => text.toWellFormed();

const htmlEscaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function utf16(text: string): Bytes {
  const bytes = new Uint8Array(2 * text.length);
  for (let i = 0; i < text.length; i++) {
    bytes[2 * i] = text.charCodeAt(i) & 0xff;
    bytes[2 * i + 1] = text.charCodeAt(i) >> 8;
  }
  return bytes;
}

function mapped(tree: Tree, change: (leaf: Tree) => Tree): Tree {
  if (tree.kind === "array") return { kind: "array", items: tree.items.map((item) => mapped(item, change)) };
  if (tree.kind !== "object") return change(tree);
  return { kind: "object", members: tree.members.map(({ key, value }) => ({ key, value: mapped(value, change) })) };
}

/** The JSON with some of its values changed, in its own layout; undefined when that changes nothing. */
function leavesChanged(change: (leaf: Tree) => Tree) {
  return (tree: Tree, { text }: Given) => {
    const layout = layoutOf(text, tree) ?? COMPACT;
    const other = writeTree(mapped(tree, change), layout, ({ raw }) => raw);
    return other === writeTree(tree, layout, ({ raw }) => raw) ? undefined : other;
  };
}

function quoted(leaf: Tree): Tree {
  return leaf.kind === "plain" && /\d/.test(leaf.raw)
    ? { kind: "string", raw: `"${leaf.raw}"`, value: leaf.raw }
    : leaf;
}

function unquoted(leaf: Tree): Tree {
  return leaf.kind === "string" && /^(?:0|[1-9]\d*)$/.test(leaf.value) ? { kind: "plain", raw: leaf.value } : leaf;
}

const PYTHON_WORDS: Record<string, string> = { true: "True", false: "False", null: "None" };

/** As str() of a dict: single quotes, unless a text holds some and no double ones. */
function asPython(tree: Tree): string {
  const words = mapped(tree, (leaf) =>
    leaf.kind === "plain" ? { kind: "plain", raw: PYTHON_WORDS[leaf.raw] ?? leaf.raw } : leaf,
  );
  return writeTree(words, { comma: ", ", colon: ": " }, ({ value }) => {
    const text = value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
    return text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text.replaceAll("'", "\\'")}'`;
  });
}
