import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { callPage } from "./call-page.tsx";
import { refusalsPage } from "./refusals-page.tsx";

const VIEWER_OF_SITE = { role: "viewer", scope: "site" } as const;

export const JOURNAL_CALLS: ConsoleCall[] = [
  call({ ...VIEWER_OF_SITE, method: "get", path: "/sites/:site_id/refusals", audit: [] }, refusalsPage),
  call({ ...VIEWER_OF_SITE, method: "get", path: "/sites/:site_id/requests/:request_id", audit: [] }, callPage),
];
