import { raw } from "hono/html";
import type { Child } from "hono/jsx";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import names from "../../assets/console/names.json";
import { docsPath } from "./console-path.ts";
import type { PageContext } from "./env.ts";
import { doneNotice, type FilledForm, isRefused } from "./forms/messages.ts";
import { Action } from "./parts/form.tsx";
import { Icon, NoticeBox } from "./parts/parts.tsx";
import { type FramedSite, SiteFrame, SiteNotices } from "./parts/site-frame.tsx";
import { useView, ViewContext } from "./view.ts";

export interface ShownPage {
  title: string;
  /** The text of the `h1`, when it differs from the title. A customer's text must not get into the browser's history. */
  heading?: Child;
  /** The section of the console that the page belongs to. */
  section?: "sites" | "homes" | "check" | "audit" | "tokens" | "access" | undefined;
  /** The site that the page is about, with the tab to mark. */
  site?: FramedSite | undefined;
  /** The app that the page is about. The examples of the docs show its appid. */
  appid?: string | undefined;
  /** The path that the language switch returns to when the page answers a post. By default it returns to the page's own address. */
  back?: string | undefined;
  /**
   * A form that is shown again. After a post, the language switch sends its values to its path, so that a change of language keeps them.
   * A form with errors makes the answer a 400.
   */
  filled?: (Pick<FilledForm, "path" | "values"> & Partial<FilledForm>) | undefined;
  /** The text that was typed into the search of the previous page. */
  search?: string | undefined;
  /** The site from whose pages the search began. By default it is the site that the page is about. */
  searchSite?: number | undefined;
  body: Child;
}

/** Answers with a page. After a form, the form's result stands at the top. */
export async function showPage(
  c: PageContext,
  { filled, ...page }: ShownPage,
  status: ContentfulStatusCode = isRefused(filled) ? 400 : 200,
): Promise<Response> {
  const { view } = c.var;
  const isPost = c.req.method === "POST";
  const done = await doneNotice(c);
  const rendered = (part: Child) => String(<ViewContext.Provider value={view}>{part}</ViewContext.Provider>);
  const body = rendered(page.body);
  const language = view.language === "zh" ? "en" : "zh";
  const sent = isPost ? filled : undefined;
  const query = sent && `?${new URLSearchParams({ language, draft: sent.path ?? c.req.path })}`;
  const values = sent?.values ?? { language, back: (isPost && page.back) || view.here };
  const languageSwitch = (
    <Action
      isFree
      action={`/console/language${query ?? ""}`}
      label={language === "en" ? "English" : "中文"}
      lang={language === "en" ? "en" : "zh-CN"}
      hidden={values}
      quiet
    />
  );
  const parts = { ...page, done, languageSwitch, hasList: body.includes('id="list"'), body: raw(body) };
  return c.html(`<!doctype html>${rendered(<Layout {...parts} />)}`, status);
}

/** Answers with a file, which the browser saves. */
export const sendFile = (c: PageContext, name: string, type: string, content: string): Response =>
  c.body(content, 200, { "content-type": type, "content-disposition": `attachment; filename="${name}"` });

function Layout(
  page: ShownPage & { hasList: boolean; languageSwitch: Child; done: Awaited<ReturnType<typeof doneNotice>> },
) {
  const { title, heading = title, section = "sites", site, done } = page;
  const view = useView();
  const { t, session } = view;
  const name = session?.identity.who.name;
  const currentPage = (here: boolean) => (here ? "page" : undefined);
  const sections = [
    ["sites", "/console", t("Sites")],
    ["homes", "/console/homes", t("Homes")],
    ["check", "/console/signature-check", t("Signature check")],
    ["audit", "/console/audit", t("Audit log")],
    ["tokens", "/console/people", t("People and tokens")],
  ] as const;
  return (
    <html lang={view.language === "zh" ? "zh-CN" : "en"}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{[...new Set([title, site?.name ?? title, "Agent Session"])].join(" · ")}</title>
        <link rel="icon" href="/console/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href={names.css} />
        <script src={names.js} defer />
      </head>
      <body data-now={view.now}>
        <a class="skip" href="#top">
          {t("Skip to content")}
        </a>
        {page.hasList && (
          <a class="skip" href="#list">
            {t("Skip to the list")}
          </a>
        )}
        <header class="bar">
          <a class="brand" href="/console">
            <span>Agent Session</span>
          </a>
          {session && view.may(SEARCH_PATH) && <SearchBox siteId={page.searchSite ?? site?.id} text={page.search} />}
          <div class="line">
            {session && (
              <>
                <nav aria-label={t("Console")}>
                  {sections
                    .filter(([, href]) => view.may(href, "GET"))
                    .map(([key, href, label]) => (
                      <a href={href} aria-current={currentPage(section === key)}>
                        {label}
                      </a>
                    ))}
                </nav>
                <a class="me" href="/console/access" title={name} aria-current={currentPage(section === "access")}>
                  <span class="unseen">{t("Your access")}: </span>
                  <bdi>{name}</bdi>
                </a>
              </>
            )}
            <div class="tools">
              <a class="button quiet" href={docsPath(view, "", { appid: page.appid })}>
                {t("Docs")}
              </a>
              {page.languageSwitch}
              {session && <Action isFree action="/console/sign-out" label={t("Sign out")} quiet />}
            </div>
          </div>
        </header>
        <main id="main">
          {site && <SiteFrame site={site} />}
          {done && <NoticeBox {...done} class="done" />}
          <h1 id="top" tabindex={-1}>
            {heading}
          </h1>
          {site && <SiteNotices site={site} />}
          {page.body}
        </main>
        <footer>{t("Times are in {0}.", view.timeZone)}</footer>
      </body>
    </html>
  );
}

const SEARCH_PATH = "/console/search";

/** One search box for everything. It posts its text, which may be a person's data, so that no address holds it. */
function SearchBox({ siteId, text }: { siteId: number | undefined; text: string | undefined }) {
  const { t } = useView();
  return (
    <search>
      <form method="post" action={SEARCH_PATH}>
        <div class="find">
          {siteId !== undefined && <input type="hidden" name="site" value={siteId} />}
          <label class="unseen" for="find">
            {t("Search by chat_id, customer, title, app, agent, request id or webhook")}
          </label>
          <Icon name="search" />
          <input
            type="search"
            id="find"
            name="q"
            value={text}
            placeholder={t("Title, id…")}
            required
            maxlength={200}
            autocomplete="off"
            spellcheck={false}
          />
          <button type="submit" class="quiet">
            {t("Search")}
          </button>
        </div>
      </form>
    </search>
  );
}
