import { type Layout, type Member, type ObjectTree, stringsOf, type Tree, writeTree } from "./json-tree.ts";
import type { Words } from "./words.ts";

/** The ways to write a JSON text anew, and the words for each. */
const REWRITING_WORDS = {
  numbers_rounded: "numbers as JavaScript writes them, which loses digits beyond 2^53",
  keys_sorted: "keys sorted",
  keys_documented: "keys in the documentation's order",
  keys_as_javascript: "keys as JavaScript orders them: whole numbers first, none twice",
  compact: "no spaces",
  spaced: "a space after each comma and colon",
  comma_spaced: "a space after each comma",
  comma_surrounded: "a space before and after each comma",
  colon_spaced: "a space after each colon",
  colon_surrounded: "a space before and after each colon",
  colon_bare: "no space after a colon",
  indented: "indented by spaces: {0}",
  indented_by_tabs: "indented by tabs",
  indented_by_jackson: "indented as Jackson does it",
  lines_only: "each field on a line of its own, without an indent",
  braces_spaced: "a space inside the braces",
  lists_inline: "lists on one line",
  crlf: "line ends CRLF",
  unescaped: "characters as they are, without \\ escapes",
  unicode_escaped: "other than ASCII written as \\uXXXX",
  unicode_escaped_upper: "other than ASCII written as \\uXXXX with capital digits",
  slashes_escaped: "/ written as \\/",
  html_escaped: "<, > and & written as \\u003c …",
  gson_escaped: "<, >, &, = and ' written as \\u003c …, as Gson does it",
  dotnet_escaped: "\", ', +, <, > and & written as \\u0022 …, as .NET does it",
} as const;

export type Rewriting = keyof typeof REWRITING_WORDS;

export const REWRITTEN =
  "The signature is over another text of the same JSON: {0}. Something serialised the body anew between signing and sending. Serialise once; sign and send that very text.";

export const REWRITING_TEXTS: readonly string[] = [REWRITTEN, ...Object.values(REWRITING_WORDS)];

/** @param layout of the rewritten text */
export const rewrittenWords = (rewritten: readonly Rewriting[], { indent = "" }: Layout): Words => ({
  words: REWRITTEN,
  values: [{ list: rewritten.map((each) => ({ words: REWRITING_WORDS[each], values: [indent.length] })) }],
});

/** One change. A text with it has at most `most` changes. Rare changes allow fewer, because each combination costs HMACs. */
interface RewritingWay<How> {
  how: How;
  names: readonly Rewriting[];
  most: 1 | 2 | 3;
}

export const COMPACT: Layout = { comma: ",", colon: ":" };
const COLONS: Record<string, Rewriting> = { ":": "colon_bare", ": ": "colon_spaced", " : ": "colon_surrounded" };
const INDENTED: Record<string, Rewriting> = { "\t": "indented_by_tabs", "": "lines_only" };
const ONE_LINE: Record<string, Rewriting> = { ",|:|": "compact", ", |: |": "spaced", ", |: | ": "spaced" };
const COMMAS: Record<string, Rewriting> = { ", ": "comma_spaced", " , ": "comma_surrounded" };
const INDENTS = ["\t", "", ...Array.from({ length: 8 }, (_, n) => " ".repeat(n + 1))];

/** All combinations of the blanks that a serialiser may write or leave out. */
function* layouts(): Generator<Layout> {
  for (const colon of Object.keys(COLONS)) {
    for (const comma of [",", ", ", " , "]) {
      yield { comma, colon };
      yield { comma, colon, padding: " " };
      if (comma === " , ") continue;
      for (const indent of INDENTS) {
        for (const lineEnd of ["\n", "\r\n"]) {
          yield { comma, colon, indent, lineEnd };
          if (colon === " : ") yield { comma, colon, indent, lineEnd, inlineLists: true };
        }
      }
    }
  }
}

function wayOf(how: Layout): RewritingWay<Layout> {
  const { comma, colon, indent, lineEnd, padding, inlineLists } = how;
  const isByJackson = inlineLists && comma === "," && indent === "  ";
  const names: (Rewriting | undefined | false)[] = [
    COMMAS[comma],
    colon !== (indent === undefined ? ":" : ": ") && COLONS[colon],
    inlineLists && "lists_inline",
  ];
  const line = indent === undefined ? ONE_LINE[`${comma}|${colon}|${padding ?? ""}`] : undefined;
  if (line || isByJackson) names.splice(0, 3, line ?? "indented_by_jackson");
  else if (indent !== undefined) names.unshift(INDENTED[indent] ?? "indented");
  if (padding) names.push("braces_spaced");
  if (lineEnd === "\r\n") names.push("crlf");
  const isUsual = (line && !padding) || (/^(?: {2}| {4})$/.test(indent ?? "") && comma + colon + lineEnd === ",: \n");
  const isRare = padding !== undefined || comma === " , " || indent === "" || (comma === ", " && indent !== undefined);
  const most = isUsual ? 3 : !isRare && (colon === ": " || isByJackson || indent === undefined) ? 2 : 1;
  return { how, names: names.filter((name) => name !== undefined && name !== false), most };
}

/** The usual layouts come first. */
const LAYOUTS = [...layouts()].map(wayOf).sort((a, b) => b.most - a.most);

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
const escapedUpper = (unit: string) => `\\u${escaped(unit).slice(2).toUpperCase()}`;
const unicode = (text: string) => text.replace(/[\u007f-\uffff]/g, escaped);
const slashes = (text: string) => text.replaceAll("/", "\\/");
const dotnet = (text: string) =>
  text.replace(/\\(.)|[\u007f-\uffff<>&'+`]/g, (match, after) =>
    after === '"' ? "\\u0022" : after === undefined ? escapedUpper(match) : match,
  );

/** Each changes a text of JSON.stringify. */
const ESCAPES: RewritingWay<(json: string) => string>[] = [
  { names: ["unescaped"], how: (json) => json, most: 3 },
  { names: ["unicode_escaped"], how: unicode, most: 3 },
  { names: ["slashes_escaped"], how: slashes, most: 3 },
  { names: ["unicode_escaped", "slashes_escaped"], how: (json) => slashes(unicode(json)), most: 3 },
  { names: ["html_escaped"], how: (json) => json.replace(/[<>&\u2028\u2029]/g, escaped), most: 3 },
  { names: ["gson_escaped"], how: (json) => json.replace(/[<>&='\u2028\u2029]/g, escaped), most: 2 },
  { names: ["unicode_escaped_upper"], how: (json) => json.replace(/[\u007f-\uffff]/g, escapedUpper), most: 2 },
  { names: ["dotnet_escaped"], how: dotnet, most: 2 },
];

const MOST_CHARACTERS = 64 * 1024;
/** A longer text gets one change less, but at least one. More changes would take too long. */
const MANY_CHARACTERS = 4 * 1024;

/** How many characters are written for one body, the usual ways first. More would take seconds of CPU for a body of 64 KiB. */
const MOST_WRITTEN = 64 * MOST_CHARACTERS;

/** The layout of a text, when it is a known one. To save time, only layouts with the same blanks around the first key are compared. */
export function layoutOf(text: string, tree: ObjectTree): Layout | undefined {
  const start = text.slice(1, text.indexOf('"'));
  const rest = text.slice(1 + start.length + (tree.members[0]?.key.raw.length ?? 0));
  const colon = /^\s*:\s*/.exec(rest)?.[0];
  const isBegun = ({ how }: RewritingWay<Layout>) => how.colon === colon && startOf(how) === start;
  return LAYOUTS.filter(isBegun).find(({ how }) => rawOf(tree, how) === text)?.how;
}

const startOf = ({ indent, lineEnd = "", padding = "" }: Layout) => (indent === undefined ? padding : lineEnd + indent);

/**
 * The usual ways to write a JSON object, except its own.
 *
 * @param own        its layout, when it is a known one
 * @param documented the names of the fields, in the order of the documentation
 */
export function* rewritings(
  tree: ObjectTree,
  own: Layout | undefined,
  length: number,
  documented: readonly string[],
): Generator<{ text: string; rewritten: Rewriting[]; layout: Layout }> {
  const isSameTree = (a: Tree, b: Tree) => rawOf(a) === rawOf(b);
  const fewer = length > MANY_CHARACTERS ? 1 : 0;
  const rounded = withNumbers(tree);
  const numbers: RewritingWay<Tree>[] = [{ how: tree, names: [], most: 3 }];
  if (!isSameTree(rounded, tree)) numbers.push({ how: rounded, names: ["numbers_rounded"], most: 3 });
  const orders: RewritingWay<(each: Tree) => Tree>[] = [{ how: (each) => each, names: [], most: 3 }];
  for (const { how, ...order } of ordersBy(documented)) {
    if (!isSameTree(how(tree), tree)) orders.push({ how, ...order });
  }
  const written = LAYOUTS.map((way) => (way.how === own ? { ...way, names: [] } : way));
  const escapes = escapesOf(tree);
  const trees = numbers.flatMap((number) =>
    orders.map((order) => ({ ordered: order.how(number.how), changes: [number, order] })),
  );
  let charactersLeft = MOST_WRITTEN;
  for (const layout of written) {
    for (const { ordered, changes } of trees) {
      const appliedChanges = [...changes, layout];
      if (charactersLeft < 0 || isTooMuch(appliedChanges, fewer)) continue;
      const json = writeTree(ordered, layout.how, ({ value }) => JSON.stringify(value));
      charactersLeft -= json.length;
      if (json.length > 2 * MOST_CHARACTERS) continue;
      for (const way of escapes) {
        const ways = [...appliedChanges, way];
        const rewritten = ways.flatMap(({ names }) => names);
        if (rewritten.length === 0 || isTooMuch(ways, fewer)) continue;
        const text = way.how(json);
        charactersLeft -= text.length;
        yield { text, rewritten, layout: layout.how };
      }
    }
  }
}

/** PHP's two escapes count as one change. */
function isTooMuch(ways: RewritingWay<unknown>[], fewer: number): boolean {
  const changes = ways.filter(({ names }) => names.length > 0);
  return changes.length > Math.max(1, Math.min(...changes.map(({ most }) => most)) - fewer);
}

/** The ways that give different texts for these strings. The way that gives the strings as they are has no name. */
function escapesOf(tree: Tree): RewritingWay<(json: string) => string>[] {
  const strings = [...stringsOf(tree)];
  const raw = strings.map((each) => each.raw).join();
  const json = strings.map(({ value }) => JSON.stringify(value)).join();
  const ways = new Map<string, RewritingWay<(json: string) => string>>();
  for (const way of ESCAPES) {
    const inside = way.how(json);
    if (!ways.has(inside)) ways.set(inside, inside === raw ? { ...way, names: [] } : way);
  }
  return [...ways.values()];
}

/** Writes a tree with its strings as they were written. */
export const rawOf = (tree: Tree, layout = COMPACT) => writeTree(tree, layout, ({ raw }) => raw);

function withNumbers(tree: Tree): Tree {
  if (tree.kind === "array") return { kind: "array", items: tree.items.map(withNumbers) };
  if (tree.kind === "object") {
    return { kind: "object", members: tree.members.map(({ key, value }) => ({ key, value: withNumbers(value) })) };
  }
  return tree.kind === "plain" && /\d/.test(tree.raw) ? { kind: "plain", raw: JSON.stringify(Number(tree.raw)) } : tree;
}

function ordersBy(documented: readonly string[]): RewritingWay<(tree: Tree) => Tree>[] {
  const rankOfKey = (key: string) => (documented.includes(key) ? documented.indexOf(key) : documented.length);
  const order = (compare: (a: string, b: string) => number) => (tree: Tree) => {
    return inOrder(tree, (a, b) => compare(a.key.value, b.key.value));
  };
  return [
    { names: ["keys_as_javascript"], how: order(asJavaScript), most: 2 },
    { names: ["keys_sorted"], how: order((a, b) => (a < b ? -1 : 1)), most: 3 },
    { names: ["keys_documented"], how: order((a, b) => rankOfKey(a) - rankOfKey(b)), most: 3 },
  ];
}

const isIndex = (key: string) => /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;

function asJavaScript(a: string, b: string): number {
  if (isIndex(a) && isIndex(b)) return Number(a) - Number(b);
  return Number(isIndex(b)) - Number(isIndex(a));
}

/** A repeated key keeps its first place and its last value, as in most programs. */
function inOrder(tree: Tree, compare: (a: Member, b: Member) => number): Tree {
  if (tree.kind === "array") return { kind: "array", items: tree.items.map((item) => inOrder(item, compare)) };
  if (tree.kind !== "object") return tree;
  const members = new Map<string, Member>();
  for (const { key, value } of tree.members) members.set(key.value, { key, value: inOrder(value, compare) });
  return { kind: "object", members: [...members.values()].sort(compare) };
}
