import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { customersPage, postFind } from "./customers-page.tsx";
import { postErase } from "./erase.tsx";
import { erasurePage, postErasure } from "./erasure-page.tsx";
import { postExport } from "./export-customer.tsx";

const CUSTOMERS = "/sites/:site_id/customers";

/**
 * The calls of the customers' pages. No address names a customer, because addresses reach logs and the browser's history. A form's
 * body or one of the customer's sessions names them.
 */
export const CUSTOMERS_CALLS: ConsoleCall[] = [
  page("viewer", CUSTOMERS, customersPage),
  form("viewer", `${CUSTOMERS}/find`, "It leads to a page.", postFind),
  form("owner", `${CUSTOMERS}/export`, ["customer.exported"], postExport),
  form("owner", `${CUSTOMERS}/erase`, ["customer.erasure_begun", "customer.erased"], postErase),
  page("owner", `${CUSTOMERS}/erasures/:erasure_id`, erasurePage),
  form("owner", `${CUSTOMERS}/erasures/:erasure_id`, ["customer.erased"], postErasure),
];
