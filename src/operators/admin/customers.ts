import { shownExport, shownReceipt } from "../http/shown-customer.ts";
import { customerErasureSchema, customerExportSchema, exportCustomer } from "../services/customers.ts";
import { eraseCustomer, type Recipient } from "../services/erase-customer.ts";
import { adminCall } from "./call.ts";

const shownRecipient = ({ id, url, delivered, attempted, told }: Recipient) => ({
  id,
  url,
  delivered,
  may_have_arrived: attempted,
  told,
});

const shownErasure = ({
  id,
  erased,
  remaining,
  isBack,
  recipients,
  timeTravelUntil,
  keysUntil,
  receipts,
}: Awaited<ReturnType<typeof eraseCustomer>>) => ({
  erasure_id: id,
  erased,
  remaining,
  customer_is_back: isBack,
  webhooks: recipients.map(shownRecipient),
  time_travel_until: timeTravelUntil,
  idempotency_keys_until: keysUntil,
  ...(receipts && {
    receipts: receipts.map(shownReceipt),
  }),
});

/** The customer is named in the body and never in the path: paths reach logs, and `..` would change one. */
export const customerCalls = [
  adminCall(
    {
      id: "exportCustomer",
      method: "post",
      path: "/sites/:site_id/customers/export",
      role: "owner",
      scope: "site",
      audit: ["customer.exported"],
      body: customerExportSchema,
      digitsOf: "sbs",
    },
    async (c, { site, body }) => c.json(shownExport(await exportCustomer(c.var.ctx, { site, ...body }))),
  ),

  adminCall(
    {
      id: "eraseCustomer",
      method: "post",
      path: "/sites/:site_id/customers/erase",
      role: "owner",
      scope: "site",
      audit: ["customer.erasure_begun", "customer.erased"],
      body: customerErasureSchema,
      digitsOf: "sbs",
    },
    async (c, { site, body }) => c.json(shownErasure(await eraseCustomer(c.var.ctx, { site, ...body }))),
  ),
];
