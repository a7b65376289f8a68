import { raw } from "hono/html";
import { codeBlock } from "./markdown.ts";

/** The appid of the contract's examples. */
const APPID = "42d7c13c16e7ed0479f2418eb8894310";

interface Props {
  title?: string | undefined;
  text: string;
  language: string;
  /** Whether the reader's own appid may replace the one in the text. */
  own?: boolean;
}

/** An example to read and to copy, with a title line. */
export function CodeExample({ title, text, language, own = false }: Props) {
  const block = codeBlock(text, language);
  return (
    <figure>
      {title && <figcaption>{title}</figcaption>}
      {raw(own ? block.replaceAll(APPID, `<span data-appid>${APPID}</span>`) : block)}
    </figure>
  );
}
