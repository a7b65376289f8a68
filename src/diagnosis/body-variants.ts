/** A text that a caller may have signed, and how it differs from the pasted one. */
export interface BodyVariant {
  text: string;
  /**
   * The line ends of this text; set when the pasted text has several lines. An HTML form turns each line end into CRLF, so both
   * kinds are tried.
   */
  lineEnds?: "lf" | "crlf";
  /** Whether this text has a line end at its end that the pasted text does not have, or lacks one that the pasted text has. */
  end?: "newline_added" | "newline_removed";
  /** How this text writes the JSON differently. Such a caller serialised the JSON twice: once to sign and once to send. */
  rewritten?: Rewriting[];
}

export type Rewriting =
  | "numbers_rounded"
  | "keys_sorted"
  | "keys_documented"
  | "compact"
  | "spaced"
  | "indented"
  | "unescaped"
  | "unicode_escaped"
  | "slashes_escaped"
  | "html_escaped";

type Json = Record<string, unknown>;

/**
 * Real bodies stay below these limits: at most 64 KiB, and 2 levels by the contract. Indenting a text that is both long and deep
 * would take gigabytes.
 */
const MOST_CHARACTERS = 64 * 1024;
const MOST_LEVELS = 32;

/**
 * The texts that a caller may have signed, the pasted text first. A generator, so that only one of them is in memory at a time.
 *
 * @param documented the names of the fields, in the order of the documentation
 */
export function* bodyVariants(pasted: string, documented: readonly string[]): Generator<BodyVariant> {
  const lf = pasted.replace(/\r\n?/g, "\n");
  const asPasted: BodyVariant[] = lf.includes("\n")
    ? [
        { text: lf, lineEnds: "lf" },
        { text: lf.replaceAll("\n", "\r\n"), lineEnds: "crlf" },
      ]
    : [{ text: pasted }];
  yield* asPasted;
  for (const variant of asPasted) {
    const text = withoutLineEnd(variant.text);
    if (text !== variant.text) yield { ...variant, text, end: "newline_removed" };
    for (const end of ["\n", "\r\n"]) yield { ...variant, text: text + end, end: "newline_added" };
  }
  if (!isJsonObject(lf) || isTooMuchToRewrite(lf)) return;
  for (const variant of rewritings(withoutLineEnd(lf), documented)) {
    yield variant;
    yield { ...variant, text: `${variant.text}\n`, end: "newline_added" };
  }
}

/** Whether a body is too long or too deep to try other ways to write its JSON. */
export function isTooMuchToRewrite(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return true;
  if (!isJsonObject(text)) return false;
  let level = 0;
  for (const [bracket] of skeleton(text).matchAll(/[[\]{}]/g)) {
    level += bracket === "[" || bracket === "{" ? 1 : -1;
    if (level > MOST_LEVELS) return true;
  }
  return false;
}

/** A loop: a regular expression would take quadratic time on thousands of line ends. */
function withoutLineEnd(text: string): string {
  let length = text.length;
  while (text[length - 1] === "\n" || text[length - 1] === "\r") length--;
  return text.slice(0, length);
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

const STRING = /"(?:[^"\\]|\\.)*"/g;

/** JSON with every string emptied. Its layout and its numbers remain. */
const skeleton = (json: string) => json.replace(STRING, '""');

const stringsOf = (json: string) => [...json.matchAll(STRING)].join();

/** The usual ways to write a JSON object, except the way of `pasted`. */
function* rewritings(pasted: string, documented: readonly string[]): Generator<BodyVariant> {
  const value = JSON.parse(pasted, asWritten as (key: string, value: unknown) => unknown) as Json;
  const compact = written(JSON.stringify(value));
  const rounded = JSON.parse(pasted) as Json;
  const numbers: [Json, Rewriting[]][] = [[value, []]];
  if (JSON.stringify(rounded) !== compact) numbers.push([rounded, ["numbers_rounded"]]);
  const orders: [(value: Json) => Json, Rewriting[]][] = [[(each) => each, []]];
  for (const [compare, order] of ordersBy(documented)) {
    const inOrder = (each: Json) => sorted(each, compare) as Json;
    if (written(JSON.stringify(inOrder(value))) !== compact) orders.push([inOrder, [order]]);
  }
  const layouts = LAYOUTS.map(([write, layout]): [typeof write, Rewriting[]] => {
    return [write, skeleton(written(write(value))) === skeleton(pasted) ? [] : [layout]];
  });
  const strings = stringsOf(pasted);
  const escapes = new Map<string, [(text: string) => string, Rewriting[]]>();
  for (const [rewrite, how] of ESCAPES) {
    const inside = stringsOf(rewrite(compact));
    if (!escapes.has(inside)) escapes.set(inside, [rewrite, inside === strings ? [] : how]);
  }
  for (const [each, number] of numbers) {
    for (const [order, key] of orders) {
      for (const [write, layout] of layouts) {
        const text = written(write(order(each)));
        if (text.length > 2 * MOST_CHARACTERS) continue;
        for (const [rewrite, how] of escapes.values()) {
          const rewritten = [...number, ...key, ...layout, ...how];
          if (rewritten.length > 0) yield { text: rewrite(text), rewritten };
        }
      }
    }
  }
}

/**
 * A reviver that keeps the digits of each number, as a string that starts with NUL. {@link written} turns that string back into the
 * number.
 */
const asWritten = (_key: string, value: unknown, { source }: { source?: string }) =>
  typeof value === "number" ? `\0${source}` : value;

const written = (json: string) => json.replace(/"\\u0000([-+.\dEe]+)"/g, "$1");

function ordersBy(documented: readonly string[]): [(a: string, b: string) => number, Rewriting][] {
  const rank = (key: string) => (documented.includes(key) ? documented.indexOf(key) : documented.length);
  return [
    [(a, b) => (a < b ? -1 : 1), "keys_sorted"],
    [(a, b) => rank(a) - rank(b), "keys_documented"],
  ];
}

const LAYOUTS: [(value: unknown) => string, Rewriting][] = [
  [(each) => JSON.stringify(each), "compact"],
  [spaced, "spaced"],
  [(each) => JSON.stringify(each, null, 2), "indented"],
  [(each) => JSON.stringify(each, null, 4), "indented"],
];

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
const unicode = (text: string) => text.replace(/[\u007f-\uffff]/g, escaped);
const slashes = (text: string) => text.replaceAll("/", "\\/");

const ESCAPES: [(text: string) => string, Rewriting[]][] = [
  [(text) => text, ["unescaped"]],
  [unicode, ["unicode_escaped"]],
  [slashes, ["slashes_escaped"]],
  [(text) => slashes(unicode(text)), ["unicode_escaped", "slashes_escaped"]],
  [(text) => text.replace(/[<>&]/g, escaped), ["html_escaped"]],
];

function sorted(value: unknown, compare: (a: string, b: string) => number): unknown {
  if (Array.isArray(value)) return value.map((each) => sorted(each, compare));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => compare(a, b));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each, compare)]));
}

/** The layout of Python's json.dumps: a blank after each comma and colon. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${spaced(each)}`);
  return `{${fields.join(", ")}}`;
}
