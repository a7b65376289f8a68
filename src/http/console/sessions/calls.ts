import { call } from "../../operator/call.ts";
import type { ConsoleCall } from "../env.ts";
import { sessionPage, sessionsPage } from "./sessions-pages.tsx";

const SEE = { role: "viewer", scope: "site" } as const;

export const SESSIONS_CALLS: ConsoleCall[] = [
  call({ ...SEE, method: "get", path: "/sites/:site_id/sessions", audit: [] }, sessionsPage),
  call({ ...SEE, method: "get", path: "/sites/:site_id/sessions/:chat_id", audit: [] }, sessionPage),
];
