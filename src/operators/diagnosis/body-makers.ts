import type { Bytes } from "./encodings.ts";
import { type Layout, type ObjectTree, type Tree, writeTree } from "./json-tree.ts";
import { rawOf } from "./rewritings.ts";

/** This file makes the texts that callers sign in place of the body. body-rows.ts says what each is for. */

/** The pasted body, and what its variants are made from. */
export interface PastedBody {
  text: string;
  /** The bytes, when they are not the text in UTF-8. */
  bytes: Bytes | undefined;
  /** Whether the line ends are those that were sent. A form does not keep them. */
  lineEndsKept: boolean;
  /** Undefined for a text that is no JSON object. */
  tree: ObjectTree | undefined;
  /** The text without line ends at its end; all other line ends are LF. */
  lines: string;
  /** The layout of `lines`; undefined for an unknown one. */
  layout: Layout | undefined;
  path: string;
}

export type MadeBody = string | Bytes | undefined;

type Pair = [name: string, value: string];

export interface MakerInput extends PastedBody {
  /** The values of the top-level fields as text: strings without quotes, all other values as JSON. */
  pairs: Pair[];
  field: (name: string) => string;
}

export const wellFormed = (text: string) => text.toWellFormed();

const asIs = (text: string) => text;
const sorted = (pairs: Pair[]) => pairs.toSorted(([a], [b]) => (a < b ? -1 : 1));
export const joined = (pairs: Pair[], encodeEach: (text: string) => string = asIs) =>
  pairs.map(([name, value]) => `${encodeEach(name)}=${encodeEach(value)}`).join("&");
export const sortedPairs = ({ pairs }: MakerInput) => sorted(pairs);
const percentEncoded = (text: string) => encodeURIComponent(wellFormed(text));
export const formEncoded = (text: string) => percentEncoded(text).replaceAll("%20", "+");
/** Percent-encodes as RFC 3986 and most languages do. JavaScript leaves these characters as they are. */
const decodeStrictly = (encoded: string) =>
  encoded.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
const lowerEscapes = (encoded: string) => encoded.replace(/%../g, (each) => each.toLowerCase());

const ENCODINGS: ((text: string) => string)[] = [
  asIs,
  percentEncoded,
  formEncoded,
  (text) => decodeStrictly(percentEncoded(text)),
  (text) => decodeStrictly(formEncoded(text)),
  (text) => lowerEscapes(percentEncoded(text)),
  // HttpUtility.UrlEncode of .NET.
  (text) => lowerEscapes(formEncoded(text).replaceAll("'", "%27")),
];

/** The ways to write a list in a query string, besides JSON. The last one leaves the list out. */
const LIST_WRITINGS: ((name: string, items: string[]) => Pair[])[] = [
  (name, items) => items.map((item) => [name, item]),
  (name, items) => items.map((item) => [`${name}[]`, item]),
  (name, items) => items.map((item, n) => [`${name}[${n}]`, item]),
  (name, items) => [[name, items.join(",")]],
  // Python's and Java's text of a list.
  (name, items) => [[name, `[${items.join(", ")}]`]],
  () => [],
];

/** A real body has about ten fields and a short list of ids. Each pair of each query string costs CPU. */
const MOST_PAIRS = 200;

/**
 * The query strings that other APIs sign, made of the fields: with and without empty values, in each encoding. There are none for a body
 * that is no JSON or has more than 200 fields.
 *
 * @param lists `as JSON` writes lists only as JSON; by default they are written in each way
 */
export function queriesOf({ tree, pairs: all }: MakerInput, order: "sorted" | "as sent", lists?: "as JSON"): string[] {
  if (tree === undefined || all.length > MOST_PAIRS) return [];
  const itemsOf = tree.members.map(({ value }) => (value.kind === "array" ? value.items : undefined));
  const isShort = itemsOf.flatMap((items) => items ?? []).length <= MOST_PAIRS;
  const forms = LIST_WRITINGS.slice(0, lists || !isShort ? 0 : undefined).map((listOf) =>
    all.flatMap((pair, n) => {
      const items = itemsOf[n];
      return items ? listOf(pair[0], items.map(plainOf)) : [pair];
    }),
  );
  const queries = new Map<string, Pair[]>();
  for (const pairs of [all, ...forms]) {
    const ordered = order === "sorted" ? sorted(pairs) : pairs;
    for (const chosenPairs of [ordered, ordered.filter(([, value]) => value !== "")])
      queries.set(joined(chosenPairs), chosenPairs);
  }
  return [...queries.values()].flatMap((pairs) => [
    ...new Set(ENCODINGS.map((encodeEach) => joined(pairs, encodeEach))),
  ]);
}

const NON_ASCII = /[^\0-\x7f]/u;
export const onlyNonAscii =
  (make: (text: string) => MadeBody) =>
  ({ text }: MakerInput) =>
    NON_ASCII.test(text) ? make(text) : undefined;
export const onlyJson = (make: (tree: Tree, body: MakerInput) => MadeBody) => (body: MakerInput) =>
  body.tree && make(body.tree, body);

/** The text without any blanks. Undefined when no value has a blank: then this text is among the rewritings already. */
export function withoutBlanks({ text, tree }: MakerInput): MadeBody {
  const bare = text.replace(/\s+/g, "");
  return tree !== undefined && bare === rawOf(tree) ? undefined : bare;
}

/** A string without its quotes; any other value as JSON. */
const plainOf = (value: Tree) => (value.kind === "string" ? value.value : rawOf(value));

/** The data that the rows of body-rows.ts are made from. */
export function givenOf(body: PastedBody): MakerInput {
  const pairs = (body.tree?.members ?? []).map(({ key, value }): Pair => [key.value, plainOf(value)]);
  return { ...body, pairs, field: (name) => pairs.findLast(([each]) => each === name)?.[1] ?? "" };
}

export const htmlEscaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export function utf16(text: string): Bytes {
  const bytes = new Uint8Array(2 * text.length);
  for (let i = 0; i < text.length; i++) {
    bytes[2 * i] = text.charCodeAt(i) & 0xff;
    bytes[2 * i + 1] = text.charCodeAt(i) >> 8;
  }
  return bytes;
}

function mapLeaves(tree: Tree, change: (leaf: Tree) => Tree): Tree {
  if (tree.kind === "array") return { kind: "array", items: tree.items.map((item) => mapLeaves(item, change)) };
  if (tree.kind !== "object") return change(tree);
  return { kind: "object", members: tree.members.map(({ key, value }) => ({ key, value: mapLeaves(value, change) })) };
}

/** The JSON with some of its values changed, in its own layout; undefined when that changes nothing. */
export function leavesChanged(change: (leaf: Tree) => Tree) {
  return (tree: Tree, { layout }: MakerInput) => {
    const other = rawOf(mapLeaves(tree, change), layout);
    return other === rawOf(tree, layout) ? undefined : other;
  };
}

export function quoted(leaf: Tree): Tree {
  return leaf.kind === "plain" && /\d/.test(leaf.raw)
    ? { kind: "string", raw: `"${leaf.raw}"`, value: leaf.raw }
    : leaf;
}

export function unquoted(leaf: Tree): Tree {
  return leaf.kind === "string" && /^(?:0|[1-9]\d*)$/.test(leaf.value) ? { kind: "plain", raw: leaf.value } : leaf;
}

const PYTHON_WORDS: Record<string, string> = { true: "True", false: "False", null: "None" };

/** Writes a tree as Python's `str()` does, with its choice of single or double quotes. */
export function asPython(tree: Tree): string {
  const words = mapLeaves(tree, (leaf) =>
    leaf.kind === "plain" ? { kind: "plain", raw: PYTHON_WORDS[leaf.raw] ?? leaf.raw } : leaf,
  );
  return writeTree(words, { comma: ", ", colon: ": " }, ({ value }) => {
    const text = value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
    return text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text.replaceAll("'", "\\'")}'`;
  });
}

/** Pairs with the secret, as APIs of payment services want them. */
export const withSecret = (queries: string[], secret: string) =>
  queries.flatMap((query) => [
    ...["key", "secret", "app_secret"].map((name) => `${query}&${name}=${secret}`),
    query + secret,
    secret + query,
    secret + query + secret,
  ]);
