/** JSON as it was written: with the order of its keys, repeated keys, and each number and string as its token. */
export type Tree =
  | { kind: "object"; members: Member[] }
  | { kind: "array"; items: Tree[] }
  | { kind: "string"; raw: string; value: string }
  | { kind: "plain"; raw: string };

export type ObjectTree = Extract<Tree, { kind: "object" }>;

export interface Member {
  key: { kind: "string"; raw: string; value: string };
  value: Tree;
}

export type JsonTreeMistake =
  | "cut_off"
  | "trailing_comma"
  | "comma_missing"
  | "comment"
  | "control_character"
  | "key_unquoted"
  | "single_quotes"
  | "wrong_quotes"
  | "full_width"
  | "backslashed_quotes"
  | "python_words"
  | "no_json_value"
  | "bad_number"
  | "bad_string"
  | "concatenated"
  | "text_after"
  | "too_deep";

export type ReadTree = { ok: true; tree: Tree } | { ok: false; mistake: JsonTreeMistake; at: number };

/** How many levels are read. A body by the contract has 2. */
export const MOST_LEVELS = 32;

class UnreadableJson {
  readonly mistake: JsonTreeMistake;
  readonly at: number;

  constructor(mistake: JsonTreeMistake, at: number) {
    this.mistake = mistake;
    this.at = at;
  }
}

const BLANKS = /[ \t\n\r]*/y;
const INSIDE_STRING = String.raw`[^"\\\0-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\0-\x1f]*)*`;
const STRING = new RegExp(`"${INSIDE_STRING}"`, "y");
const UNFINISHED = new RegExp(`"${INSIDE_STRING}`, "y");
const NUMBER_OR_LITERAL = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w)/y;

/** Reads a text that should be one JSON value. For any other text, returns the first fault and its place. */
export function readTree(text: string): ReadTree {
  const reader = new JsonReader(text);
  try {
    return { ok: true, tree: reader.readAll() };
  } catch (error) {
    const { mistake, at } = error as UnreadableJson;
    return { ok: false, mistake, at };
  }
}

/** The first fault of a text that is no JSON. */
export const readMistake = (text: string) => readTree(text) as Extract<ReadTree, { ok: false }>;

class JsonReader {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  readAll(): Tree {
    const tree = this.value(1);
    const next = this.next();
    if (next !== "") this.fail(next === "{" ? "concatenated" : "text_after");
    return tree;
  }

  private value(level: number): Tree {
    const next = this.next();
    if (level > MOST_LEVELS && /[[{]/.test(next)) this.fail("too_deep");
    if (next === "{") return { kind: "object", members: this.list("}", () => this.member(level)) };
    if (next === "[") return { kind: "array", items: this.list("]", () => this.value(level + 1)) };
    if (next === '"') return this.string();
    const raw = this.token(NUMBER_OR_LITERAL);
    if (raw === undefined) this.failAtValue(next);
    return { kind: "plain", raw };
  }

  private member(level: number): Member {
    if (this.next() !== '"') this.failAtKey();
    const key = this.string();
    const colon = this.next();
    if (colon !== ":") this.fail(colon === "" ? "cut_off" : colon === "：" ? "full_width" : "no_json_value");
    this.at++;
    return { key, value: this.value(level + 1) };
  }

  private list<Item>(end: string, read: () => Item): Item[] {
    const items: Item[] = [];
    this.at++;
    if (this.next() === end) {
      this.at++;
      return items;
    }
    for (;;) {
      items.push(read());
      const next = this.next();
      this.at++;
      if (next === end) return items;
      this.at--;
      if (next === "") this.fail("cut_off");
      if (next === "/") this.fail("comment");
      if (next === "，" || next === "｝") this.fail("full_width");
      if (next !== ",") this.fail("comma_missing");
      this.at++;
      if (this.next() === end) this.fail("trailing_comma");
    }
  }

  private string(): Extract<Tree, { kind: "string" }> {
    const raw = this.token(STRING);
    if (raw !== undefined) return { kind: "string", raw, value: JSON.parse(raw) as string };
    this.token(UNFINISHED);
    const stop = this.text[this.at];
    this.fail(stop === undefined ? "cut_off" : stop === "\\" ? "bad_string" : "control_character");
  }

  private failAtKey(): never {
    const next = this.next();
    if (next === "'") this.fail("single_quotes");
    if (next === "\\") this.fail("backslashed_quotes");
    if (/[\w$]/.test(next)) this.fail("key_unquoted");
    this.failAtValue(next);
  }

  private failAtValue(next: string): never {
    const rest = this.text.slice(this.at, this.at + 10);
    if (next === "") this.fail("cut_off");
    if (next === "'") this.fail("single_quotes");
    if (/^["“”„‘’«»]/.test(next)) this.fail("wrong_quotes");
    if (/[｛｝［］，：＂]/.test(next)) this.fail("full_width");
    if (next === "\\") this.fail("backslashed_quotes");
    if (next === "/" || next === "#") this.fail("comment");
    if (/^(True|False|None)\b/.test(rest)) this.fail("python_words");
    if (/[-+.\d]/.test(next)) this.fail("bad_number");
    this.fail("no_json_value");
  }

  /** The next character that is not blank; empty at the end. */
  private next(): string {
    BLANKS.lastIndex = this.at;
    BLANKS.exec(this.text);
    this.at = BLANKS.lastIndex;
    return this.text[this.at] ?? "";
  }

  private token(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const token = pattern.exec(this.text)?.[0];
    if (token !== undefined) this.at += token.length;
    return token;
  }

  private fail(mistake: JsonTreeMistake): never {
    throw new UnreadableJson(mistake, this.at);
  }
}

/** How a program lays out JSON. Without `indent` all is one line. */
export interface Layout {
  comma: string;
  colon: string;
  indent?: string;
  lineEnd?: string;
  /** The blanks inside the braces of an object on one line. */
  padding?: string;
  /** Lists of one line with a blank on each side, as Jackson writes them. */
  inlineLists?: true;
}

/**
 * Writes JSON in a layout.
 *
 * @param stringOf how a string is written, with its quotes
 */
export function writeTree(
  tree: Tree,
  layout: Layout,
  stringOf: (token: Extract<Tree, { kind: "string" }>) => string,
): string {
  const { comma, colon, indent, lineEnd = "\n", padding = "", inlineLists } = layout;
  const block = (parts: string[], [open, close]: [string, string], level: number, inline = false): string => {
    if (inline) return parts.length === 0 ? `${open} ${close}` : `${open} ${parts.join(", ")} ${close}`;
    if (parts.length === 0) return open + close;
    if (indent === undefined) {
      const inside = open === "{" ? padding : "";
      return open + inside + parts.join(comma) + inside + close;
    }
    const inner = lineEnd + indent.repeat(level + 1);
    return open + inner + parts.join(comma + inner) + lineEnd + indent.repeat(level) + close;
  };
  const write = (each: Tree, level: number): string => {
    if (each.kind === "plain") return each.raw;
    if (each.kind === "string") return stringOf(each);
    if (each.kind === "array") {
      const items = each.items.map((item) => write(item, inlineLists ? level : level + 1));
      return block(items, ["[", "]"], level, inlineLists);
    }
    const members = each.members.map(({ key, value }) => stringOf(key) + colon + write(value, level + 1));
    if (members.length === 0 && inlineLists) return "{ }";
    return block(members, ["{", "}"], level);
  };
  return write(tree, 0);
}

/** The strings of a tree in the order of the text, keys too. */
export function* stringsOf(tree: Tree): Generator<Extract<Tree, { kind: "string" }>> {
  if (tree.kind === "string") yield tree;
  if (tree.kind === "array") for (const item of tree.items) yield* stringsOf(item);
  if (tree.kind !== "object") return;
  for (const { key, value } of tree.members) {
    yield key;
    yield* stringsOf(value);
  }
}
