import { raw } from "hono/html";
import { Marked } from "marked";
import { codeBlock } from "./markdown.ts";
import { escapeHtml } from "./page.ts";
import type { Texts } from "./texts.ts";

const inline = new Marked({
  renderer: {
    html: ({ text }) => escapeHtml(text),
    code: ({ text, lang }) => codeBlock(text, lang),
  },
});

/** A sentence of the code as HTML. It may have code in backquotes, emphasis and links. */
export const Inline = ({ text }: { text: string }) => raw(inline.parseInline(text, { async: false }));

/** A text with several paragraphs or a list, as HTML. */
const Paragraphs = ({ text }: { text: string }) => raw(inline.parse(text, { async: false }));

/** A description from openapi.json. Without a Chinese translation it is in English, and marked as English for screen readers. */
export function Description({ texts, text }: { texts: Texts; text: string | undefined }) {
  if (text === undefined) return null;
  const chineseText = texts.find(text);
  if (chineseText !== undefined) return <Paragraphs text={chineseText} />;
  // The pages that it links to keep the reader's language.
  const linked = texts.language === "zh" ? text.replaceAll("](/docs/", "](/docs/zh/") : text;
  return (
    <div lang="en">
      <Paragraphs text={linked} />
    </div>
  );
}
