import { call } from "../../operator/call.ts";
import type { ConsoleCall } from "../env.ts";
import { customersPage, postErase, postExport } from "./customers-page.tsx";

const OWNER = { role: "owner", scope: "site" } as const;
const PATH = "/sites/:site_id/customers";

/** The customer is named in forms only, and never in an address: addresses reach logs and the browser's history. */
export const CUSTOMERS_CALLS: ConsoleCall[] = [
  call({ ...OWNER, method: "get", path: PATH, audit: [] }, customersPage),
  call({ ...OWNER, method: "post", path: `${PATH}/export`, audit: ["customer.exported"] }, postExport),
  call(
    { ...OWNER, method: "post", path: `${PATH}/erase`, audit: ["customer.erasure_begun", "customer.erased"] },
    postErase,
  ),
];
