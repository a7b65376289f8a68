/** The largest length of an automatic title in graphemes, with the ellipsis. */
const MOST_GRAPHEMES = 40;

/**
 * A text that is one sentence by UAX #29: nothing that ends a sentence or a line stands in it, but at its end. Asked first, because the
 * first Intl.Segmenter of an isolate costs 9 ms of CPU.
 */
const ONE_SENTENCE =
  /^[^\p{Sentence_Terminal}.\u2024\ufe52\uff0e\r\n\u0085\u2028\u2029]*[\p{Sentence_Terminal}.]*\s*$/u;

/** Characters that are graphemes of their own. */
const PLAIN = /^[\x20-\x7e]*$/;

/**
 * The automatic title of a session: the first sentence of its first message, on one line. It is cut between graphemes, never inside
 * an emoji or a combining sequence. Empty when the message is blank.
 */
export function autoTitle(content: string): string {
  const line = firstSentence(content.trimStart()).replace(/\s+/g, " ").trim();
  if (line.length <= MOST_GRAPHEMES) return line;
  let kept = "";
  let count = 0;
  for (const grapheme of graphemesOf(line)) {
    if (++count === MOST_GRAPHEMES) return line === kept + grapheme ? line : `${kept.trimEnd()}…`;
    kept += grapheme;
  }
  return kept;
}

function firstSentence(text: string): string {
  if (ONE_SENTENCE.test(text)) return text;
  return segmenter("sentence").segment(text).containing(0)?.segment ?? "";
}

function* graphemesOf(line: string): Iterable<string> {
  if (PLAIN.test(line)) yield* line;
  else for (const { segment } of segmenter("grapheme").segment(line)) yield segment;
}

const segmenters = new Map<string, Intl.Segmenter>();

function segmenter(granularity: "sentence" | "grapheme"): Intl.Segmenter {
  // The locale of Workers, said so that no other machine cuts elsewhere.
  const made = segmenters.get(granularity) ?? new Intl.Segmenter("en", { granularity });
  segmenters.set(granularity, made);
  return made;
}
