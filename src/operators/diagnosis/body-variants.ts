import { givenOf, type MadeBody, type PastedBody } from "./body-makers.ts";
import { BODY_AND_SECRET_ROWS, BODY_ROWS } from "./body-rows.ts";
import type { Bytes } from "./encodings.ts";
import { readTree } from "./json-tree.ts";
import { layoutOf, REWRITING_TEXTS, type Rewriting, rawOf, rewritings, rewrittenWords } from "./rewritings.ts";
import type { Finding } from "./words.ts";

export type { PastedBody } from "./body-makers.ts";
export type { Rewriting } from "./rewritings.ts";

/** What a caller may have signed, and how it differs from the pasted text. */
export interface BodyVariant {
  text: string;
  /** The bytes that were signed, when they are not the text in UTF-8. */
  bytes?: Bytes;
  /** The difference; undefined for the pasted text itself. */
  finding?: Finding;
  /**
   * The line ends of this text; set when the pasted text has several lines. An HTML form turns each line end into CRLF, so both
   * kinds are tried.
   */
  lineEnds?: "lf" | "crlf" | "cr";
  /** Set when this text and the pasted text differ in the line end at their ends. */
  end?: "newline_added" | "newline_removed" | "newline_changed";
  /** How this text writes the JSON differently. Such a caller serialised the JSON twice: once to sign and once to send. */
  rewritten?: Rewriting[];
}

const MOST_CHARACTERS = 64 * 1024;
const MOST_FIELDS = 16;
/** The most characters of field names in a finding. */
const MOST_NAMED = 200;

/** Reads a pasted body once for all of its variants. When a form did not keep the line ends, they count as LF. */
export function pastedBody(
  pasted: string,
  { bytes, operation, lineEndsKept = false }: { bytes?: Bytes; operation?: { path: string }; lineEndsKept?: boolean },
): PastedBody {
  const text = lineEndsKept ? pasted : withLf(pasted);
  const readText = text.length > MOST_CHARACTERS ? undefined : readTree(text);
  const tree = readText?.ok === true && readText.tree.kind === "object" ? readText.tree : undefined;
  const lines = withoutLineEnd(withLf(text));
  const layout = tree && layoutOf(lines, tree);
  return { text, bytes, lineEndsKept, tree, lines, layout, path: operation?.path ?? "" };
}

/** Whether a body is too long or too deep to try other ways to write it. */
export function isTooMuchToRewrite(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return true;
  const readText = readTree(text);
  return !readText.ok && readText.mistake === "too_deep";
}

const END_ADDED =
  "What was signed ends with a line end, {0}, that was not sent. Sign exactly what you send: no echo without -n, no trailing line of a file.";
const END_REMOVED =
  "What was sent ends with a line end, {0}, that was not signed. Sign exactly what you send, or send it without the line end.";
const END_REMOVED_IF_SENT =
  "What was signed has no line end at its end, the pasted body does. If it is sent that way, the line end is the cause; if it came in while pasting, all is well.";
const END_CHANGED =
  "What was signed ends with {0}, what was sent ends with {1}. Something changed the line end between signing and sending.";
const LINE_ENDS_CHANGED =
  "What was signed has the line ends {0}, what was sent has {1}. Something changed the line ends between signing and sending.";
const FIELDS_ADDED =
  "The signature is over the body without {0}: added after signing. Finish the body first, then sign it.";

export const BODY_TEXTS: readonly string[] = [
  ...REWRITING_TEXTS,
  ...[...BODY_ROWS, ...BODY_AND_SECRET_ROWS].map(({ words }) => words),
  END_ADDED,
  END_REMOVED,
  END_REMOVED_IF_SENT,
  END_CHANGED,
  LINE_ENDS_CHANGED,
  FIELDS_ADDED,
];

export const LF = "LF (\\n)";
export const CRLF = "CRLF (\\r\\n)";
export const CR = "CR (\\r)";

const SIGNED_ENDS = { lf_signed: "\n", crlf_signed: "\r\n", two_lf_signed: "\n\n", cr_signed: "\r" };

/** The pasted text itself: twice when it has several lines and a form did not keep their ends. */
export function asPasted({ text, bytes, lineEndsKept }: PastedBody): [BodyVariant, ...BodyVariant[]] {
  if (bytes !== undefined) return [{ text, bytes }];
  if (lineEndsKept || !text.includes("\n")) return [{ text }];
  return [
    { text, lineEnds: "lf" },
    { text: text.replaceAll("\n", "\r\n"), lineEnds: "crlf" },
    { text: text.replaceAll("\n", "\r"), lineEnds: "cr" },
  ];
}

/** The texts that a caller may have signed in place of the pasted one. A generator, so that only one of them is in memory at a time. */
export function* otherBodies(body: PastedBody): Generator<BodyVariant> {
  if (body.bytes !== undefined) return;
  yield* otherLineEnds(body);
  if (body.text.length > MOST_CHARACTERS) return;
  const pastedText = givenOf(body);
  for (const { makes, ...finding } of BODY_ROWS) {
    for (const made of makes.flatMap((make) => make(pastedText))) yield* variantOf(body, made, finding);
  }
  yield* fieldsAdded(body);
}

/** The texts to try that hold the secret. */
export function* bodiesWithSecret(body: PastedBody, secret: string): Generator<BodyVariant> {
  if (body.bytes !== undefined || body.text.length > MOST_CHARACTERS) return;
  const pastedText = givenOf(body);
  for (const { makes, ...finding } of BODY_AND_SECRET_ROWS) {
    for (const made of makes.flatMap((make) => make(pastedText, secret))) yield* variantOf(body, made, finding);
  }
}

/** @param documented the names of the fields, in the order of the documentation */
export function* rewrittenBodies(
  { lines, tree, layout: own }: PastedBody,
  documented: readonly string[],
): Generator<BodyVariant> {
  if (tree === undefined) return;
  for (const { text: other, rewritten, layout } of rewritings(tree, own, lines.length, documented)) {
    const finding = { name: rewritten.join("+"), ...rewrittenWords(rewritten, layout) };
    yield { text: other, rewritten, finding };
    yield { text: other + (layout.lineEnd ?? "\n"), rewritten, end: "newline_added", finding };
  }
}

function* otherLineEnds(body: PastedBody): Generator<BodyVariant> {
  const { lineEndsKept } = body;
  for (const variant of asPasted(body)) {
    const text = withoutLineEnd(variant.text);
    const addedText = variant.text.slice(text.length);
    if (addedText !== "") {
      const words = lineEndsKept
        ? { words: END_REMOVED, values: [endName(addedText)] }
        : { words: END_REMOVED_IF_SENT };
      yield { ...variant, text, end: "newline_removed", finding: { name: "newline_not_signed", ...words } };
    }
    for (const [name, signed] of Object.entries(SIGNED_ENDS)) {
      if (signed === addedText) continue;
      const finding: Finding =
        addedText === ""
          ? { name, words: END_ADDED, values: [endName(signed)] }
          : { name: `${name}_instead`, words: END_CHANGED, values: [endName(signed), endName(addedText)] };
      yield { ...variant, text: text + signed, end: addedText === "" ? "newline_added" : "newline_changed", finding };
    }
  }
  if (!lineEndsKept) return;
  const lf = withLf(body.text);
  const name = "line_ends_changed";
  yield* variantOf(body, lf, { name, words: LINE_ENDS_CHANGED, values: [LF, CRLF] });
  yield* variantOf(body, lf.replaceAll("\n", "\r\n"), { name, words: LINE_ENDS_CHANGED, values: [CRLF, LF] });
}

/** The body as it was before one field, or some of the last fields, were added. Its layout must be a known one. */
function* fieldsAdded(body: PastedBody): Generator<BodyVariant> {
  const { tree, layout } = body;
  if (tree === undefined) return;
  const { members } = tree;
  const names = members.map(({ key }) => key.value);
  const sets = [
    ["timestamp", "ranstr"],
    ["appid", "timestamp", "ranstr"],
    ...names.slice(0, MOST_FIELDS).map((name) => [name]),
  ];
  for (let last = 2; last < Math.min(names.length, MOST_FIELDS); last++) sets.push(names.slice(-last));
  for (const set of sets) {
    const addedNames = names.filter((name) => set.includes(name));
    if (addedNames.length === 0) continue;
    const membersLeft = members.filter(({ key }) => !addedNames.includes(key.value));
    const other = rawOf({ kind: "object", members: membersLeft }, layout);
    const name = addedNames.join() === "appid" ? "appid_added" : "fields_added";
    yield* variantOf(body, other, { name, words: FIELDS_ADDED, values: [addedNames.join(", ").slice(0, MOST_NAMED)] });
  }
}

function* variantOf({ text }: PastedBody, made: MadeBody, finding: Finding): Generator<BodyVariant> {
  if (made === undefined || made === text) return;
  if (typeof made === "string") yield { text: made, finding };
  else yield { text, bytes: made, finding };
}

const withLf = (text: string) => text.replace(/\r\n?/g, "\n");

/** A loop: a regular expression would take quadratic time on thousands of line ends. */
function withoutLineEnd(text: string): string {
  let length = text.length;
  while (text[length - 1] === "\n" || text[length - 1] === "\r") length--;
  return text.slice(0, length);
}

const endName = (end: string) =>
  ({ "\n": LF, "\r\n": CRLF, "\r": CR })[end] ?? JSON.stringify(end).slice(1, -1).slice(0, 20);
