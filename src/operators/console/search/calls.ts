import { call } from "../../http/call.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { postSearch, searchPage } from "./search-page.tsx";

const SEE_ALL = { role: "viewer", scope: "sites" } as const;

export const SEARCH_CALLS: ConsoleCall[] = [
  call({ ...SEE_ALL, method: "get", path: "/search", audit: [] }, (c: PageContext) => searchPage(c)),
  // The search is a form, so that no address holds the text.
  call(
    {
      ...SEE_ALL,
      method: "post",
      path: "/search",
      audit: [],
      changesNothing: "It leads to the page of what was found.",
    },
    (c: PageContext) => postSearch(c),
  ),
];
