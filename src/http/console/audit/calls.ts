import { call } from "../../operator/call.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { auditPage } from "./audit-page.tsx";

export const AUDIT_CALLS: ConsoleCall[] = [
  call({ role: "viewer", scope: "sites", method: "get", path: "/audit", audit: [] }, (c: PageContext) => auditPage(c)),
  call({ role: "viewer", scope: "site", method: "get", path: "/sites/:site_id/audit", audit: [] }, auditPage),
];
