import type { PropsWithChildren } from "hono/jsx";
import { isVisible, UNSEEN_CHARACTERS } from "../../../core/fields.ts";
import { useView } from "../view.ts";

/** Whether a text has invisible characters, or blanks at its ends. */
export const hasUnseen = (text: string): boolean => showUnseen(text) !== text;

/** Shows the invisible characters of a text, or other ones: a blank (at an end) as ␣, any other by its code. */
export const showUnseen = (text: string, characters = UNSEEN_CHARACTERS): string =>
  text.replace(characters, (character) =>
    character.startsWith(" ")
      ? "␣".repeat(character.length)
      : `[U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
  );

/** A name; or, when nobody sees it, as older versions allowed, its id in brackets. */
export const visibleName = ({ id, name }: { id: string | number; name: string }): string =>
  isVisible(name) ? name : `(${id})`;

/** Removes invisible characters from a text. Line ends, tabs and other blanks become spaces, so that words stay apart. */
export const withoutUnseen = (text: string): string =>
  text.replace(UNSEEN_CHARACTERS, (character) => (/^[\t\n\r\p{Z}]/u.test(character) ? " " : "")).trim();

/** Shows typed texts with their invisible characters. The children are the links or buttons that search without these characters. */
export function Unseen({ texts, children }: PropsWithChildren<{ texts: string[] }>) {
  return (
    <div class="line-of">
      <span>
        {useView().t("It has characters that nobody sees:")}{" "}
        {texts.map((text) => (
          <>
            <bdi class="long">{showUnseen(text)}</bdi>{" "}
          </>
        ))}
      </span>
      {texts.some((text) => withoutUnseen(text) !== "") && children}
    </div>
  );
}
