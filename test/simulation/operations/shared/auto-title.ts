const MOST = 40;
const sentences = new Intl.Segmenter("en", { granularity: "sentence" });
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

const partsOf = (segmenter: Intl.Segmenter, content: string): string[] =>
  [...segmenter.segment(content)].map(({ segment }) => segment);

/** docs/decisions.md, "automatic title": the first sentence of the first message, on one line, at most 40 graphemes. */
export function titleOf(content: string): string {
  const [first = ""] = partsOf(sentences, content.trimStart());
  const line = first.replaceAll(/\s+/g, " ").trim();
  const letters = partsOf(graphemes, line);
  return letters.length <= MOST
    ? line
    : `${letters
        .slice(0, MOST - 1)
        .join("")
        .trimEnd()}…`;
}
