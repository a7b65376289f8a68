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
import type { View } from "../view.ts";

/** What can be searched for, with an example of each. */
export function WhatToType({ view }: { view: View }) {
  const { t } = view;
  const rows: [string, string, string][] = [
    [t("A session"), "90210", t("its chat_id, on a page of its site; or words of its titles")],
    [t("A customer"), "customer_001", t("the whole id by which your systems know them (sbs)")],
    [t("A call"), "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12", t("its request id: x-request-id of the answer")],
    [t("An app"), "my-shop", t("its appid, or six characters of its start or more; or words of its name")],
    [t("An agent"), "10411", t("the id or words of the name")],
    [t("A webhook"), "wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42", t("its id")],
    [t("An event"), "evt_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42", t("its id: webhook-id of a delivery")],
    [t("A site"), "Acme", t("words of its name, or its id")],
  ];
  return (
    <>
      <p class="lead">
        {t("Type into the search above. It looks on all sites that you see. A line copied from a log will do.")}
      </p>
      <Table
        label={t("What can be searched for")}
        head={[t("You look for"), t("Type"), t("For example")]}
        rows={rows.map(([what, example, type]) => [what, type, <code class="long">{example}</code>])}
        empty=""
      />
    </>
  );
}

/** How far the search looked, and what it left out. The section is open when nothing was found. */
export function SearchedParts(props: { view: View; result: SearchResult; journalDays: number; isOpen: boolean }) {
  const { view, result, journalDays, isOpen } = props;
  return (
    <details class="far" open={isOpen}>
      <summary>{view.t("What was searched, and what was not")}</summary>
      <ul>
        {[...limitsOf(view, result, journalDays), ...sitesLeft(view, result)].map((text) => (
          <li>{text}</li>
        ))}
      </ul>
    </details>
  );
}

function limitsOf(view: View, { searchText }: SearchResult, journalDays: number): string[] {
  const { t } = view;
  const number = numbersOf(view);
  const texts: string[] = [];
  if (searchText.requestId !== undefined) {
    texts.push(
      t(
        "Refused calls are kept for {0} days, and of a flood some are left out. Of an accepted call that opened no session, the page of its site knows for 31 minutes. Calls whose appid is unknown or was not read, as with a wrong Content-Type, are in the log only: filter by request_id there.",
        journalDays,
      ),
    );
  }
  if (searchText.eventId !== undefined)
    texts.push(t("An event was looked for among the newest {0} of each site.", number(EVENTS_SEARCHED)));
  if (searchText.words.length > 0) {
    texts.push(
      t(
        "Words were looked for in the titles of the newest {0} sessions of each site, and in the names of sites and of {1} apps and agents of each. Every word must occur, also within a longer one.",
        number(TITLES_SEARCHED),
        number(NAMES_SEARCHED),
      ),
      t("What was written in sessions, and the names of customers, were not searched."),
    );
  }
  if (searchText.wordsLeft > 0) texts.push(t("Only the first {0} words were searched for.", MOST_WORDS));
  if (searchText.number !== undefined)
    texts.push(t("A chat_id counts on its site alone: each site may have a session of this number."));
  if (searchText.sbs !== undefined)
    texts.push(t("A customer is found by the whole id only, in the same small and capital letters."));
  return texts;
}

function sitesLeft(view: View, { searchText, left }: SearchResult): string[] {
  const { t } = view;
  const number = numbersOf(view);
  const texts: string[] = [];
  const readsMuch = searchText.words.length > 0 || searchText.eventId !== undefined;
  if (readsMuch && left.words > 0) {
    texts.push(
      t(
        "Words and events were looked for on {0} sites of each home, and not on {1} more: open a page of the right site and search there.",
        MOST_SITES_FOR_WORDS,
        number(left.words),
      ),
    );
  }
  if (left.ids > 0)
    texts.push(t("Ids were looked for on {0} sites of each home, and not on {1} more.", MOST_SITES, number(left.ids)));
  if (left.isMore) texts.push(t("There are still more sites, of which nothing was searched."));
  return texts;
}

const numbersOf = ({ language }: View) => {
  const format = new Intl.NumberFormat(language);
  return (value: number) => format.format(value);
};
