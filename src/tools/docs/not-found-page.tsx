import type { Page } from "./page.ts";
import type { Texts } from "./texts.ts";

/** The Worker's answer, with 404, for an address of `/docs/` that has no page. */
export function notFoundPage(texts: Texts): Page {
  const { t, link } = texts;
  const body = String(
    <>
      <p class="lead">{t("There is no page at this address. It may be mistyped, or the page has moved.")}</p>
      <p>
        {t("Search above for a word or an error message, or go to")} <a href={link("")}>{t("Overview")}</a>
        {t(".")}
      </p>
    </>,
  );
  return {
    path: "not-found",
    title: t("Page not found"),
    description: t("There is no page at this address. It may be mistyped, or the page has moved."),
    body,
    headings: [],
  };
}
