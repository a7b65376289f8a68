import { isText } from "../../../core/fields.ts";
import {
  EVENTS_SEARCHED,
  hasFound,
  MOST_SITES,
  MOST_SITES_FOR_WORDS,
  MOST_TYPED,
  MOST_WORDS,
  NAMES_SEARCHED,
  onlyFound,
  type SearchResult,
  search,
  TITLES_SEARCHED,
} from "../../services/search.ts";
import type { PageContext } from "../env.ts";
import { aroundCall } from "../journal/call-page.tsx";
import { showPage } from "../layout.tsx";
import { Action } from "../parts/form.tsx";
import { Table } from "../parts/list.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { hasUnseen, showUnseen, Unseen, withoutUnseen } from "../parts/unseen.tsx";
import { useView } from "../view.ts";
import { FoundThings } from "./found-things.tsx";
import { openText, sealText } from "./sealed-text.ts";

const PATH = "/console/search";

/** Where the pages of things are that the search may lead to, below the page of their site. */
const FOLDERS = { call: "requests", session: "sessions", app: "apps", webhook: "webhooks" };

/** A site's id in a form or an address. */
const siteIdOf = (text = ""): number | undefined => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined);

/** Answers the search box of every page: `q` is the typed text, `site` the site whose page was open. */
export async function postSearch(c: PageContext): Promise<Response> {
  const { q = "", site = "" } = c.var.form;
  // A character has up to two UTF-16 units. One more unit is kept, so that a text that is too long stays too long.
  const text = q.trim().slice(0, 2 * MOST_TYPED + 1);
  const query = new URLSearchParams();
  if (text !== "") query.set("text", await sealText(c, text));
  if (siteIdOf(site) !== undefined) query.set("site", site);
  return c.redirect(query.size === 0 ? PATH : `${PATH}?${query}`, 303);
}

/** Shows the findings by kind. Without a text, it shows what can be searched for. */
export async function searchPage(c: PageContext): Promise<Response> {
  const { ctx, t } = c.var;
  const { text: sealed, site } = c.req.query();
  const text = await openText(c, "text");
  const openSite = siteIdOf(site);
  const shown = { title: t("Search"), search: text, searchSite: openSite };
  if (text === undefined || !isText(text, 1, MOST_TYPED)) {
    const body = (
      <>
        {text === undefined && sealed && (
          <NoticeBox kind="note" title={t("Type it once more: your session is another one by now.")} />
        )}
        {text !== undefined && (
          <NoticeBox kind="bad" title={t("That is too long: a search has at most {0} characters.", MOST_TYPED)} />
        )}
        <WhatToType />
      </>
    );
    return showPage(c, { ...shown, body }, text === undefined ? 200 : 400);
  }
  const result = await search(ctx, { typed: text, openSite });
  const only = onlyFound(result, openSite);
  if (only) return c.redirect(`/console/sites/${only.siteId}/${FOLDERS[only.kind]}/${only.id}`, 303);
  const isFound = hasFound(result);
  const { searchText, calls, homesDown } = result;
  const [before, after] = t("Nothing was found for {0}.", "\u0000").split("\u0000");
  const body = (
    <>
      {!isFound && (
        <p class="lead">
          {before}
          <bdi>{showUnseen(text)}</bdi>
          {after}
        </p>
      )}
      {!isFound && hasUnseen(text) && (
        <Unseen texts={[text]}>
          <Action
            action={PATH}
            label={t("Search without them")}
            hidden={{ q: withoutUnseen(text), ...(openSite && { site: String(openSite) }) }}
          />
        </Unseen>
      )}
      {homesDown.length > 0 && (
        <NoticeBox kind="bad" title={t("Homes that do not answer: {0}", homesDown.join(", "))}>
          <p>{t("What they have is missing here. Search again later.")}</p>
        </NoticeBox>
      )}
      <FoundThings result={result} />
      {searchText.requestId !== undefined && calls.length === 0 && (await aroundCall(c, searchText.requestId))}
      <SearchedParts result={result} journalDays={ctx.config.journalDays} isOpen={!isFound} />
    </>
  );
  return showPage(c, { ...shown, body });
}

/** What can be searched for, with an example of each. */
function WhatToType() {
  const { t } = useView();
  const rows: [string, string, string][] = [
    [t("A session"), t("its chat_id, on a page of its site; or words of its titles"), "90210"],
    [t("A customer"), t("the whole id by which your systems know them (sbs)"), "customer_001"],
    [t("A call"), t("its request id: x-request-id of the answer"), "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12"],
    [t("An app"), t("its appid, or six characters of its start or more; or words of its name"), "my-shop"],
    [t("An agent"), t("the id or words of the name"), "10411"],
    [t("A webhook"), t("its id"), "wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"],
    [t("An event"), t("its id: webhook-id of a delivery"), "evt_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"],
    [t("A site"), t("words of its name, or its id"), "Acme"],
  ];
  return (
    <>
      <p class="lead">
        {t("Type into the search above. It looks on all sites that you see. A line copied from a log will do.")}
      </p>
      <Table
        label={t("What can be searched for")}
        head={[t("You look for"), t("Type"), t("For example")]}
        rows={rows.map(([what, type, example]) => [what, type, <code class="long">{example}</code>])}
        empty=""
      />
    </>
  );
}

/** How far the search looked, and what it left out. The section is open when nothing was found. */
function SearchedParts(props: { result: SearchResult; journalDays: number; isOpen: boolean }) {
  const { t, number } = useView();
  const { searchText, left } = props.result;
  const { requestId, eventId, sbs, number: chatId } = searchText;
  const hasWords = searchText.words.length > 0;
  const texts = [
    requestId &&
      t(
        "Refused calls are kept for {0} days, and of a flood some are left out. Of an accepted call that opened no session, the page of its site knows for 31 minutes. Calls whose appid is unknown or was not read, as with a wrong Content-Type, are in the log only: filter by request_id there.",
        props.journalDays,
      ),
    eventId && t("An event was looked for among the newest {0} of each site.", number(EVENTS_SEARCHED)),
    hasWords &&
      t(
        "Words were looked for in the titles of the newest {0} sessions of each site, and in the names of sites and of {1} apps and agents of each. Every word must occur, also within a longer one.",
        number(TITLES_SEARCHED),
        number(NAMES_SEARCHED),
      ),
    hasWords && t("What was written in sessions, and the names of customers, were not searched."),
    searchText.wordsLeft > 0 && t("Only the first {0} words were searched for.", MOST_WORDS),
    chatId !== undefined && t("A chat_id counts on its site alone: each site may have a session of this number."),
    sbs && t("A customer is found by the whole id only, in the same small and capital letters."),
    (hasWords || eventId) &&
      left.words > 0 &&
      t(
        "Words and events were looked for on {0} sites of each home, and not on {1} more: open a page of the right site and search there.",
        MOST_SITES_FOR_WORDS,
        number(left.words),
      ),
    left.ids > 0 &&
      t("Ids were looked for on {0} sites of each home, and not on {1} more.", MOST_SITES, number(left.ids)),
    left.isMore && t("There are still more sites, of which nothing was searched."),
  ];
  return (
    <details class="far" open={props.isOpen}>
      <summary>{t("What was searched, and what was not")}</summary>
      <ul>{texts.map((text) => text && <li>{text}</li>)}</ul>
    </details>
  );
}
