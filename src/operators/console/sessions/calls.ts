import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { sessionPage } from "./session-page.tsx";
import { sessionsPage } from "./sessions-page.tsx";

const VIEWER_OF_SITE = { role: "viewer", scope: "site" } as const;

export const SESSIONS_CALLS: ConsoleCall[] = [
  call({ ...VIEWER_OF_SITE, method: "get", path: "/sites/:site_id/sessions", audit: [] }, sessionsPage),
  call({ ...VIEWER_OF_SITE, method: "get", path: "/sites/:site_id/sessions/:chat_id", audit: [] }, sessionPage),
];
