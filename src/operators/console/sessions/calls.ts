import type { ConsoleCall } from "../env.ts";
import { page } from "../page-call.ts";
import { sessionPage } from "./session-page.tsx";
import { sessionsPage } from "./sessions-page.tsx";

export const SESSIONS_CALLS: ConsoleCall[] = [
  page("viewer", "/sites/:site_id/sessions", sessionsPage),
  page("viewer", "/sites/:site_id/sessions/:chat_id", sessionPage),
];
