import type { ConsoleCall } from "../env.ts";
import { page } from "../page-call.ts";
import { callPage } from "./call-page.tsx";
import { refusalsPage } from "./refusals-page.tsx";

export const JOURNAL_CALLS: ConsoleCall[] = [
  page("viewer", "/sites/:site_id/refusals", refusalsPage),
  page("viewer", "/sites/:site_id/requests/:request_id", callPage),
];
