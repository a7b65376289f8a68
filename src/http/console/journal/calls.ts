import { call } from "../../operator/call.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { callPage } from "./call-page.tsx";
import { refusalsPage } from "./refusals-page.tsx";
import { searchPage } from "./search-page.tsx";

const SEE = { role: "viewer", scope: "site" } as const;

export const JOURNAL_CALLS: ConsoleCall[] = [
  call({ ...SEE, method: "get", path: "/sites/:site_id/refusals", audit: [] }, refusalsPage),
  call({ ...SEE, method: "get", path: "/sites/:site_id/requests/:request_id", audit: [] }, callPage),
  call({ role: "viewer", scope: "sites", method: "get", path: "/requests", audit: [] }, (c: PageContext) =>
    searchPage(c),
  ),
];
