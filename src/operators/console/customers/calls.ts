import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { customersPage } from "./customers-page.tsx";
import { postErase } from "./erase.tsx";
import { erasurePage, postErasure } from "./erasure-page.tsx";
import { postFind } from "./find-customer.ts";
import { postExport } from "./hand-over.tsx";

const VIEWER_OF_SITE = { role: "viewer", scope: "site" } as const;
const OWNER = { role: "owner", scope: "site" } as const;
const CUSTOMERS = "/sites/:site_id/customers";

/**
 * The calls of the customers' pages. No address names a customer, because addresses reach logs and the browser's history. A form's
 * body or one of the customer's sessions names them.
 */
export const CUSTOMERS_CALLS: ConsoleCall[] = [
  call({ ...VIEWER_OF_SITE, method: "get", path: CUSTOMERS, audit: [] }, (c, site) => customersPage(c, site)),
  call(
    { ...VIEWER_OF_SITE, method: "post", path: `${CUSTOMERS}/find`, audit: [], changesNothing: "It leads to a page." },
    postFind,
  ),
  call({ ...OWNER, method: "post", path: `${CUSTOMERS}/export`, audit: ["customer.exported"] }, postExport),
  call(
    { ...OWNER, method: "post", path: `${CUSTOMERS}/erase`, audit: ["customer.erasure_begun", "customer.erased"] },
    postErase,
  ),
  call({ ...OWNER, method: "get", path: `${CUSTOMERS}/erasures/:erasure_id`, audit: [] }, erasurePage),
  call(
    { ...OWNER, method: "post", path: `${CUSTOMERS}/erasures/:erasure_id`, audit: ["customer.erased"] },
    postErasure,
  ),
];
