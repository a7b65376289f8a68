import { headingsOf, type Page } from "./page.ts";
import { LANGUAGES, linkTo, type Texts } from "./texts.ts";

/**
 * The page of the search. Its script searches in the browser. It asks the server only for the list of all sections. Without the script,
 * the page lists all pages.
 */
export function searchPage(texts: Texts, pages: Page[], script: string, index: string): Page {
  const { t, link } = texts;
  const body = String(
    <>
      <p>
        {t(
          "Paste an error message, a field or a word. The search runs in your browser: what you look for is not sent.",
        )}
      </p>
      <noscript>
        <p class="note">{t("Without JavaScript there is no search: these are all pages.")}</p>
      </noscript>
      <p id="count" role="status" />
      <div
        id="results"
        data-index={index}
        data-none={t("Nothing was found for “{0}”. Try fewer words, or one from the error.", "{0}")}
        data-other={linkTo(texts.language === "en" ? "zh" : "en", "search")}
        data-elsewhere={t("Search the pages in {0}", LANGUAGES[texts.language === "en" ? "zh" : "en"].name)}
        data-found={t("{0} results", "{0}")}
        data-failed={t("The list of pages did not load. Reload the page.")}
      />
      <section id="all">
        <h2 id="pages">{t("All pages")}</h2>
        <ul class="all">
          {pages.map(({ path, title }) => (
            <li>
              <a href={link(path)}>{title}</a>
            </li>
          ))}
        </ul>
      </section>
    </>,
  );
  return {
    path: "search",
    title: t("Search"),
    description: t("Search pages and errors"),
    body,
    headings: headingsOf(body),
    script,
  };
}
