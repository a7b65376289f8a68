import {
  EVENTS_SEARCHED,
  MOST_SITES,
  MOST_SITES_FOR_WORDS,
  MOST_WORDS,
  NAMES_SEARCHED,
  type SearchResult,
  TITLES_SEARCHED,
} from "../../services/search.ts";
import { Table } from "../parts/table.tsx";
import { useView } from "../view.ts";

/** What can be searched for, with an example of each. */
export function WhatToType() {
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
export function SearchedParts(props: { result: SearchResult; journalDays: number; isOpen: boolean }) {
  const { t, number } = useView();
  const { searchText, left } = props.result;
  const hasWords = searchText.words.length > 0;
  const readsMuch = hasWords || searchText.eventId !== undefined;
  const texts = [
    searchText.requestId !== undefined &&
      t(
        "Refused calls are kept for {0} days, and of a flood some are left out. Of an accepted call that opened no session, the page of its site knows for 31 minutes. Calls whose appid is unknown or was not read, as with a wrong Content-Type, are in the log only: filter by request_id there.",
        props.journalDays,
      ),
    searchText.eventId !== undefined &&
      t("An event was looked for among the newest {0} of each site.", number(EVENTS_SEARCHED)),
    hasWords &&
      t(
        "Words were looked for in the titles of the newest {0} sessions of each site, and in the names of sites and of {1} apps and agents of each. Every word must occur, also within a longer one.",
        number(TITLES_SEARCHED),
        number(NAMES_SEARCHED),
      ),
    hasWords && t("What was written in sessions, and the names of customers, were not searched."),
    searchText.wordsLeft > 0 && t("Only the first {0} words were searched for.", MOST_WORDS),
    searchText.number !== undefined &&
      t("A chat_id counts on its site alone: each site may have a session of this number."),
    searchText.sbs !== undefined &&
      t("A customer is found by the whole id only, in the same small and capital letters."),
    readsMuch &&
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
