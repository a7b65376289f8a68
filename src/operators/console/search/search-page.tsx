import { isText } from "../../../core/fields.ts";
import { hasFound, MOST_TYPED, type OnlyFound, onlyFound, search } from "../../services/search.ts";
import type { PageContext } from "../env.ts";
import { readForm } from "../forms/read-form.ts";
import { aroundCall } from "../journal/call-page.tsx";
import { showPage } from "../layout.tsx";
import { Action, Hidden } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { hasUnseen, showUnseen, Unseen, withoutUnseen } from "../parts/unseen.tsx";
import { FoundThings } from "./found-things.tsx";
import { openText, sealText } from "./sealed-text.ts";
import { SearchedParts, WhatToType } from "./what-to-type.tsx";

const PATH = "/console/search";

/** A site's id in a form or an address. */
const siteIdOf = (text = ""): number | undefined => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined);

/** Answers the search box of every page: `q` is the typed text, `site` the site whose page was open. */
export async function postSearch(c: PageContext): Promise<Response> {
  const { session } = c.var.view;
  const { q = "", site = "" } = await readForm(c);
  // A character has up to two UTF-16 units. One more unit is kept, so that a text that is too long stays too long.
  const text = q.trim().slice(0, 2 * MOST_TYPED + 1);
  const query = new URLSearchParams();
  if (text !== "" && session !== undefined) query.set("text", await sealText(c.var.ctx.runtime, session, text));
  if (siteIdOf(site) !== undefined) query.set("site", site);
  return c.redirect(query.size === 0 ? PATH : `${PATH}?${query}`, 303);
}

/** Shows the findings by kind. Without a text, it shows what can be searched for. */
export async function searchPage(c: PageContext): Promise<Response> {
  const { ctx, view } = c.var;
  const { t, session } = view;
  const { text: sealed, site } = c.req.query();
  const text = session && sealed ? await openText(session, sealed) : undefined;
  const openSite = siteIdOf(site);
  const title = t("Search");
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
    return showPage(c, { title, search: text, searchSite: openSite, body }, text === undefined ? 200 : 400);
  }
  const result = await search(ctx, { typed: text, openSite });
  const only = onlyFound(result, openSite);
  if (only !== undefined) return c.redirect(pathOf(only), 303);
  const isFound = hasFound(result);
  const { requestId } = result.searchText;
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
          <Action action={PATH} label={t("Search without them")}>
            <Hidden values={{ q: withoutUnseen(text), ...(openSite !== undefined && { site: String(openSite) }) }} />
          </Action>
        </Unseen>
      )}
      {result.homesDown.length > 0 && (
        <NoticeBox kind="bad" title={t("Homes that do not answer: {0}", result.homesDown.join(", "))}>
          <p>{t("What they have is missing here. Search again later.")}</p>
        </NoticeBox>
      )}
      <FoundThings result={result} />
      {requestId !== undefined && result.calls.length === 0 && (await aroundCall(c, requestId))}
      <SearchedParts result={result} journalDays={ctx.config.journalDays} isOpen={!isFound} />
    </>
  );
  return showPage(c, { title, search: text, searchSite: openSite, body });
}

function pathOf(only: OnlyFound): string {
  const site = `/console/sites/${only.siteId}`;
  switch (only.kind) {
    case "call":
      return `${site}/requests/${only.requestId}`;
    case "session":
      return `${site}/sessions/${only.chatId}`;
    case "app":
      return `${site}/apps/${only.appid}`;
    case "webhook":
      return `${site}/webhooks/${only.id}`;
  }
}
