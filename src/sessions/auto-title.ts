/** Graphemes an automatic title has at most, the ellipsis included. */
const MOST_GRAPHEMES = 40;

/** No first sentence worth showing is longer, and segmenting 2,000 characters for a title would be waste. */
const LOOK_AT = 400;

const sentences = new Intl.Segmenter(undefined, { granularity: "sentence" });
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * The automatic title of a session: the first sentence of its first message on one line, cut where a reader sees a character end,
 * never inside an emoji or a combining sequence. Empty when the message is blank.
 */
export function autoTitle(content: string): string {
  const start = content.trimStart().slice(0, LOOK_AT);
  const [sentence] = sentences.segment(start);
  const line = (sentence?.segment ?? "").replace(/\s+/g, " ").trim();
  let kept = "";
  let count = 0;
  for (const { segment } of graphemes.segment(line)) {
    if (++count === MOST_GRAPHEMES) return line === kept + segment ? line : `${kept.trimEnd()}…`;
    kept += segment;
  }
  return kept;
}
