import type { PropsWithChildren } from "hono/jsx";
import { UNSEEN } from "../../../core/fields.ts";
import type { View } from "../view.ts";

/** Whether a text has characters that nobody sees, or blanks at its ends. */
export const hasUnseen = (text: string): boolean => showUnseen(text) !== text;

/** A text with the characters that nobody sees shown: a blank at an end as ␣, any other by its code. */
export const showUnseen = (text: string): string =>
  text.replace(UNSEEN, (found) =>
    found.startsWith(" ")
      ? "␣".repeat(found.length)
      : `[U+${found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
  );

/** A text without them. Other blanks, line ends and tabs become blanks, so that words stay apart. */
export const withoutUnseen = (text: string): string =>
  text.replace(UNSEEN, (found) => (/^[\t\n\r\p{Z}]/u.test(found) ? " " : "")).trim();

/** What was typed with characters that nobody sees, each of them shown, and what searches without them: the children. */
export const Unseen = ({ view, texts, children }: PropsWithChildren<{ view: View; texts: string[] }>) => (
  <div class="line-of">
    <span>
      {view.t("It has characters that nobody sees:")}{" "}
      {texts.map((text) => (
        <>
          <bdi class="long">{showUnseen(text)}</bdi>{" "}
        </>
      ))}
    </span>
    {texts.some((text) => withoutUnseen(text) !== "") && children}
  </div>
);
