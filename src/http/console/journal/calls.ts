import { call } from "../../operator/call.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { callPage } from "./call-page.tsx";
import { refusalsPage } from "./refusals-page.tsx";
import { searchPage } from "./search-page.tsx";

const SITE = { role: "owner", scope: "site" } as const;

export const JOURNAL_CALLS: ConsoleCall[] = [
  call({ ...SITE, method: "get", path: "/sites/:site_id/refusals", audit: [] }, refusalsPage),
  call({ ...SITE, method: "get", path: "/sites/:site_id/requests/:request_id", audit: [] }, callPage),
  call({ role: "owner", scope: "deployment", method: "get", path: "/requests", audit: [] }, (c: PageContext) =>
    searchPage(c),
  ),
];
