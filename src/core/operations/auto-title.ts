import { isVisible } from "../fields.ts";

/** The largest length of an automatic title with its ellipsis. There are two limits, because a grapheme may have many code points. */
const MOST_GRAPHEMES = 40;
export const MOST_CODE_POINTS = 120;

/**
 * Finds the first sentence of a trimmed text in the simple cases of UAX #29: its end mark stands at the end of the text, or before a
 * character that always begins a sentence. This pattern is tried first, because the first Intl.Segmenter of an isolate costs 9 ms of CPU.
 * It takes linear time, because the first part of the pattern stops at the first end mark.
 */
const FIRST_SENTENCE =
  /^[^\p{Sentence_Terminal}.\u2024\ufe52\uff0e\r\n\u0085\u2028\u2029]*(?:[\p{Sentence_Terminal}.]*$|\.+ +(?=[A-Z\u4e00-\u9fff])|[!?\u3002\uff01\uff1f]+ *(?=[\w\u4e00-\u9fff]))/u;

/** Printable ASCII: each character is one grapheme, so no Intl.Segmenter is needed. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/**
 * The automatic title of a session: the first sentence of its first message, on one line. A cut is always between graphemes, never
 * inside an emoji or a combining sequence. The title is empty when it would have no visible character.
 */
export function autoTitle(content: string): string {
  const line = firstSentence(content.trim()).replace(/\s+/g, " ").trim();
  if (!isVisible(line)) return "";
  if (line.length <= MOST_GRAPHEMES) return line;
  let title = "";
  let [graphemes, codePoints] = [0, 0];
  for (const grapheme of graphemesOf(line)) {
    graphemes += 1;
    codePoints += [...grapheme].length;
    if (graphemes < MOST_GRAPHEMES && codePoints < MOST_CODE_POINTS) title += grapheme;
    else if (graphemes <= MOST_GRAPHEMES && codePoints <= MOST_CODE_POINTS && line === title + grapheme) return line;
    else return isVisible(title) ? `${title.trimEnd()}…` : "";
  }
  return title;
}

function firstSentence(text: string): string {
  const match = FIRST_SENTENCE.exec(text);
  if (match !== null) return match[0];
  // The text is not empty, so it has a first sentence.
  const firstSegment = segmenter("sentence").segment(text).containing(0) as Intl.SegmentData;
  return firstSegment.segment;
}

function* graphemesOf(line: string): Iterable<string> {
  if (PRINTABLE_ASCII.test(line)) yield* line;
  else for (const { segment } of segmenter("grapheme").segment(line)) yield segment;
}

const segmenters = new Map<string, Intl.Segmenter>();

function segmenter(granularity: "sentence" | "grapheme"): Intl.Segmenter {
  // "en" is the locale of Workers. Without it, another machine could cut differently.
  const made = segmenters.get(granularity) ?? new Intl.Segmenter("en", { granularity });
  segmenters.set(granularity, made);
  return made;
}
