import { call } from "../../http/call.ts";
import type { ConsoleCall, PageContext } from "../env.ts";
import { auditFile } from "./audit-file.ts";
import { auditPage } from "./audit-page.tsx";

export const AUDIT_CALLS: ConsoleCall[] = [
  call({ role: "viewer", scope: "sites", method: "get", path: "/audit", audit: [] }, (c: PageContext) => auditPage(c)),
  call({ role: "viewer", scope: "sites", method: "get", path: "/audit.csv", audit: [] }, (c: PageContext) =>
    auditFile(c),
  ),
  // The audit rows of an ended site stay readable.
  call(
    { role: "viewer", scope: "site", method: "get", path: "/sites/:site_id/audit", endedToo: true, audit: [] },
    auditPage,
  ),
  call(
    { role: "viewer", scope: "site", method: "get", path: "/sites/:site_id/audit.csv", endedToo: true, audit: [] },
    auditFile,
  ),
];
