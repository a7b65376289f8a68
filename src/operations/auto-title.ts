/** The largest length of an automatic title in graphemes, with the ellipsis. */
const MOST_GRAPHEMES = 40;

// The locale of Workers, said so that no other machine cuts elsewhere.
const LOCALE = "en";
const sentences = new Intl.Segmenter(LOCALE, { granularity: "sentence" });
const graphemes = new Intl.Segmenter(LOCALE, { granularity: "grapheme" });

/**
 * The automatic title of a session: the first sentence of its first message, on one line. It is cut between graphemes, never inside
 * an emoji or a combining sequence. Empty when the message is blank.
 */
export function autoTitle(content: string): string {
  const sentence = sentences.segment(content.trimStart()).containing(0)?.segment ?? "";
  const line = sentence.replace(/\s+/g, " ").trim();
  if (line.length <= MOST_GRAPHEMES) return line;
  let kept = "";
  let count = 0;
  for (const { segment } of graphemes.segment(line)) {
    if (++count === MOST_GRAPHEMES) return line === kept + segment ? line : `${kept.trimEnd()}…`;
    kept += segment;
  }
  return kept;
}
