/** How the text that was signed differs from the text that was pasted. */
export interface BodyVariant {
  text: string;
  /** Set when the pasted text has line ends: a form turns each into CRLF, so both are tried. */
  lineEnds?: "lf" | "crlf";
  /** Something at the end of what was signed that is not at the end of what was pasted, or the other way round. */
  end?: "newline_added" | "newline_removed";
  /** The JSON was written anew between signing and sending. */
  rewritten?: Rewriting[];
}

export type Rewriting =
  | "compact"
  | "spaced"
  | "indented"
  | "keys_sorted"
  | "keys_documented"
  | "unicode_escaped"
  | "slashes_escaped"
  | "html_escaped";

type Json = Record<string, unknown>;

/** Contract section 4: the order in which the fields are documented. */
const DOCUMENTED =
  "appid timestamp ranstr sbs ip sbs_mc content title kefu_id fzr_uid sender_type chat_id kefu_ids".split(" ");

/** The texts a caller may have signed, the pasted one first, each once. */
export function bodyVariants(pasted: string): BodyVariant[] {
  const variants = new Map<string, BodyVariant>();
  const add = (variant: BodyVariant) => {
    if (!variants.has(variant.text)) variants.set(variant.text, variant);
  };
  const lf = pasted.replace(/\r\n?/g, "\n");
  const crlf = lf.replaceAll("\n", "\r\n");
  const asPasted: BodyVariant[] = lf.includes("\n")
    ? [
        { text: lf, lineEnds: "lf" },
        { text: crlf, lineEnds: "crlf" },
      ]
    : [{ text: pasted }];
  for (const variant of asPasted) add(variant);
  for (const variant of asPasted) {
    const bare = variant.text.replace(/[\r\n]+$/, "");
    add({ ...variant, text: bare, end: "newline_removed" });
    add({ ...variant, text: `${bare}\n`, end: "newline_added" });
    add({ ...variant, text: `${bare}\r\n`, end: "newline_added" });
  }
  const value = parse(lf);
  try {
    for (const variant of value === undefined ? [] : rewritings(value)) {
      add(variant);
      add({ ...variant, text: `${variant.text}\n`, end: "newline_added" });
    }
  } catch {
    // Thousands of brackets within one another are more than can be written anew, and nobody's mistake.
  }
  return [...variants.values()];
}

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function* rewritings(value: Json): Generator<BodyVariant> {
  const orders: [Json, Rewriting[]][] = [
    [value, []],
    [sorted(value, (a, b) => (a < b ? -1 : 1)) as Json, ["keys_sorted"]],
    [sorted(value, (a, b) => rank(a) - rank(b)) as Json, ["keys_documented"]],
  ];
  const layouts: [(value: unknown) => string, Rewriting][] = [
    [(each) => JSON.stringify(each), "compact"],
    [spaced, "spaced"],
    [(each) => JSON.stringify(each, null, 2), "indented"],
    [(each) => JSON.stringify(each, null, 4), "indented"],
  ];
  const unicode = (text: string) => text.replace(/[\u007f-\uffff]/g, escaped);
  const slashes = (text: string) => text.replaceAll("/", "\\/");
  const escapes: [(text: string) => string, Rewriting[]][] = [
    [(text) => text, []],
    [unicode, ["unicode_escaped"]],
    [slashes, ["slashes_escaped"]],
    [(text) => slashes(unicode(text)), ["unicode_escaped", "slashes_escaped"]],
    [(text) => text.replace(/[<>&]/g, escaped), ["html_escaped"]],
  ];
  for (const [ordered, order] of orders) {
    for (const [write, layout] of layouts) {
      const text = write(ordered);
      for (const [rewrite, how] of escapes) yield { text: rewrite(text), rewritten: [layout, ...order, ...how] };
    }
  }
}

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

const rank = (key: string) => (DOCUMENTED.includes(key) ? DOCUMENTED.indexOf(key) : DOCUMENTED.length);

function sorted(value: unknown, by: (a: string, b: string) => number): unknown {
  if (Array.isArray(value)) return value.map((each) => sorted(each, by));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => by(a, b));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each, by)]));
}

/** As Python's json.dumps does it: `, ` and `: `. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${spaced(each)}`);
  return `{${fields.join(", ")}}`;
}
