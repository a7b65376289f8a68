import { raw } from "hono/html";
import type { Heading, Page } from "./page.ts";
import { markdownAddress } from "./page-markdown.ts";
import { LANGUAGES, linkTo, type Texts } from "./texts.ts";

/** Addresses of the files that every page loads. Their names hold a digest of their content. */
export interface Assets {
  css: string;
  js: string;
}

interface MenuEntry {
  path: string;
  label: string;
}

/** The sections of the header. */
const SECTIONS: MenuEntry[] = [
  { path: "", label: "Overview" },
  { path: "integrating", label: "Integrating" },
  { path: "receiving", label: "Receiving events" },
  { path: "errors", label: "Errors" },
  { path: "reference", label: "Reference" },
  { path: "check", label: "Check a request" },
];

/**
 * The groups of pages in the side bar. The pages of the last two groups are only in English. Pages for who changes the service are not
 * here: links of other pages, the search and the READMEs lead to them.
 */
const MENU_GROUPS: { label: string; entries: MenuEntry[]; onlyEnglish?: boolean }[] = [
  {
    label: "Call",
    entries: [
      { path: "", label: "Overview" },
      { path: "integrating", label: "Integrating" },
      { path: "retrying", label: "Retrying safely" },
      { path: "switching", label: "Coming from another server" },
      { path: "errors", label: "Errors" },
      { path: "check", label: "Check a request" },
    ],
  },
  { label: "Receive", entries: [{ path: "receiving", label: "Receiving events" }] },
  {
    label: "Reference",
    entries: [
      { path: "reference/create_gd", label: "create_gd" },
      { path: "reference/add_kf", label: "add_kf" },
      { path: "reference", label: "All calls and events" },
    ],
  },
  {
    label: "Operate",
    onlyEnglish: true,
    entries: [
      { path: "deploying", label: "Deploying" },
      { path: "upgrading", label: "Upgrading" },
      { path: "operating", label: "Operating" },
      { path: "paged", label: "You are paged" },
      { path: "operating/watching", label: "Watching" },
      { path: "operating/people", label: "People and access" },
      { path: "operating/sites-and-secrets", label: "Sites and secrets" },
      { path: "operating/webhooks", label: "Webhooks" },
      { path: "operating/data-and-restore", label: "Customers' data and restore" },
      { path: "data-location", label: "Where data lies" },
      { path: "scale", label: "Scale and cost" },
      { path: "threat-model", label: "Threat model" },
    ],
  },
  {
    label: "Background",
    onlyEnglish: true,
    entries: [
      { path: "client", label: "Client for TypeScript" },
      { path: "contract", label: "The contract" },
      { path: "architecture", label: "Architecture" },
    ],
  },
];

/** A whole page: the console's header, the side bar, the text, and the link to the other language. */
export function pageInFrame(page: Page, texts: Texts, assets: Assets): string {
  return `<!doctype html>${String(<Document page={page} texts={texts} assets={assets} />)}`;
}

function Document({ page, texts, assets }: { page: Page; texts: Texts; assets: Assets }) {
  const { t } = texts;
  const { tag } = LANGUAGES[texts.language];
  const here = entryOf(page.path);
  return (
    <html lang={tag}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{page.path === "" ? "Agent Session API" : `${page.title} · Agent Session API`}</title>
        <meta name="description" content={page.description} />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="/docs/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href={assets.css} />
        {(["en", "zh"] as const).map((each) => (
          <link rel="alternate" hreflang={LANGUAGES[each].tag} href={linkTo(each, page.path)} />
        ))}
        <link rel="alternate" type="text/markdown" href={markdownAddress(texts.language, page)} />
        <script type="module" src={assets.js} />
        {page.script && <script type="module" src={page.script} />}
      </head>
      <body data-copy={t("Copy")} data-copied={t("Copied")}>
        <a class="skip" href="#top">
          {t("Skip to content")}
        </a>
        <Header page={page} texts={texts} section={sectionOf(page.path)} />
        <div class={page.wide ? "columns wide" : "columns"}>
          <main id="main" lang={page.onlyEnglish ? "en" : undefined}>
            <a class="to-menu" href="#menu" lang={tag}>
              {t("Pages and contents")} ↓
            </a>
            {page.onlyEnglish && texts.language === "zh" && (
              <p class="note" lang={tag}>
                {t("This page exists in English only.")}
              </p>
            )}
            <p class="note own" hidden data-own>
              {t("The examples show your app")} <code data-appid />{" "}
              <button type="button" class="quiet" data-forget>
                {t("Show placeholders")}
              </button>
            </p>
            <h1 id="top" tabindex={-1}>
              {page.title}
            </h1>
            {raw(page.body)}
          </main>
          <SideBar texts={texts} here={here} headings={page.headings} />
        </div>
        <footer>
          <a href={markdownAddress(texts.language, page)}>Markdown</a> <a href="/openapi.json">openapi.json</a>{" "}
          <a href="/console">{t("Console")}</a>
        </footer>
      </body>
    </html>
  );
}

/** The side bar's entry for a page. Most calls have no entry of their own. */
function entryOf(path: string): string {
  return !isInMenu(path) && path.startsWith("reference/") ? "reference" : path;
}

const isInMenu = (path: string) => MENU_GROUPS.some(({ entries }) => entries.some((entry) => entry.path === path));

function sectionOf(path: string): string {
  if (path === "retrying" || path === "switching") return "integrating";
  return path.startsWith("reference/") ? "reference" : path;
}

function Header({ page, texts, section }: { page: Page; texts: Texts; section: string }) {
  const { t, language, link } = texts;
  const otherLanguage = language === "en" ? "zh" : "en";
  return (
    <header class="bar">
      <a class="brand" href={link("")}>
        <span>Agent Session</span>
      </a>
      {!page.sealed && (
        <search>
          <form action={link("search")} data-search>
            <div class="find">
              <label class="unseen" for="find">
                {t("Search pages and errors")}
              </label>
              <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
                <circle cx="11" cy="11" r="7" />
                <path d="m20 20-3.9-3.9" />
              </svg>
              <input type="search" id="find" placeholder={t("Page or error…")} autocomplete="off" />
              <button type="submit" class="quiet">
                {t("Search")}
              </button>
            </div>
          </form>
        </search>
      )}
      <div class="line">
        <nav aria-label={t("Documentation")}>
          {SECTIONS.map(({ path, label }) => (
            <a href={link(path)} aria-current={path === section ? "page" : undefined}>
              {t(label)}
            </a>
          ))}
        </nav>
      </div>
      <div class="tools">
        <a
          class="button quiet"
          href={linkTo(otherLanguage, page.path)}
          lang={LANGUAGES[otherLanguage].tag}
          hreflang={LANGUAGES[otherLanguage].tag}
          data-language
        >
          {LANGUAGES[otherLanguage].name}
        </a>
        <a class="button quiet" href="/console">
          {t("Console")}
        </a>
      </div>
    </header>
  );
}

/**
 * The list of pages. Below the current page it lists the page's headings, or at the top when the page is not in the list. On a phone it
 * stands below the text.
 */
function SideBar({ texts, here, headings }: { texts: Texts; here: string; headings: Heading[] }) {
  const { t, link, language } = texts;
  return (
    <nav class="side" id="menu" aria-label={t("Pages and contents")}>
      {!isInMenu(here) && headings.length > 1 && (
        <section>
          <h2>{t("On this page")}</h2>
          <Contents headings={headings} />
        </section>
      )}
      {MENU_GROUPS.map(({ label, entries, onlyEnglish }) => (
        <section>
          <h2>
            {t(label)}
            {onlyEnglish && language === "zh" && <small>{t("in English")}</small>}
          </h2>
          <ul>
            {entries.map(({ path, label: name }) => (
              <li>
                <a href={link(path)} aria-current={path === here ? "page" : undefined}>
                  {t(name)}
                </a>
                {path === here && <Contents headings={headings} />}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function Contents({ headings }: { headings: Heading[] }) {
  if (headings.length < 2) return null;
  return (
    <ul>
      {headings.map(({ id, title, level }) => (
        <li class={level === 3 ? "sub" : undefined}>
          <a href={`#${id}`}>{title}</a>
        </li>
      ))}
    </ul>
  );
}
