import type { ConsoleCall } from "../env.ts";
import { page } from "../page-call.ts";
import { auditFile } from "./audit-file.ts";
import { auditPage } from "./audit-page.tsx";

export const AUDIT_CALLS: ConsoleCall[] = [
  page("viewer", "/audit", auditPage, { scope: "sites" }),
  page("viewer", "/audit.csv", auditFile, { scope: "sites" }),
  // The audit rows of an ended site stay readable.
  page("viewer", "/sites/:site_id/audit", auditPage, { endedToo: true }),
  page("viewer", "/sites/:site_id/audit.csv", auditFile, { endedToo: true }),
];
