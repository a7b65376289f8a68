import { raw } from "hono/html";
import { codeBlock } from "./markdown.ts";

/** An example to read and to copy, with a line that says what it is. */
export function CodeExample({ title, text, language }: { title?: string | undefined; text: string; language: string }) {
  return (
    <figure>
      {title && <figcaption>{title}</figcaption>}
      {raw(codeBlock(text, language))}
    </figure>
  );
}
