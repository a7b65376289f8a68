import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { postSearch, searchPage } from "./search-page.tsx";

export const SEARCH_CALLS: ConsoleCall[] = [
  page("viewer", "/search", searchPage, { scope: "sites" }),
  // The search is a form, so that no address holds the text.
  form("viewer", "/search", "It leads to the page of what was found.", postSearch, { scope: "sites" }),
];
