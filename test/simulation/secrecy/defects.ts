import { type Defect, oneEditDefect } from "../planted-defect.ts";

/** Defects that reveal a secret or a person. */
export const SECRECY_DEFECTS: Defect[] = [
  {
    name: "kv-receipt-names-the-customer",
    what: "The receipt of an erasure in KV has the customer's id in place of the hash.",
    edits: [
      {
        file: "src/operators/services/erase-customer.ts",
        find: "{ id: erasureId, hash, until, listedTo, listedAt }: OpenErasure,",
        replace: "{ id: erasureId, hash, until, listedTo, listedAt, externalId }: OpenErasure,",
      },
      {
        file: "src/operators/services/erase-customer.ts",
        find: "writeReceipt(config.credentials, receipt)",
        replace: "writeReceipt(config.credentials, { ...receipt, hash: externalId })",
      },
    ],
  },
  oneEditDefect(
    "kv-record-with-an-open-secret",
    "The record of a new app in KV has the secret in clear text.",
    "src/operators/services/apps.ts",
    "publishApp(ctx, { siteId, appid, home, version, secret: sealed, events: homeSite.events, ...fresh });",
    "publishApp(ctx, { siteId, appid, home, version, secret, events: homeSite.events, ...fresh });",
  ),
  oneEditDefect(
    "journal-quotes-the-signature",
    "A refused call goes to the journal with its signature.",
    "src/operators/http/journal-refusals.ts",
    "detail: detail?.slice(0, LONGEST_DETAIL) ?? null,",
    'detail: c.req.header("x-chat-signature") ?? detail?.slice(0, LONGEST_DETAIL) ?? null,',
  ),
  oneEditDefect(
    "log-names-the-erased",
    "The log names the customer whom an operator erases.",
    "src/operators/services/erase-customer.ts",
    "  if (begunErasure === undefined) throw customerUnknown();\n",
    "  if (begunErasure === undefined) throw customerUnknown();\n  ctx.telemetry.warn({ warning: `erasing ${externalId}` });\n",
  ),
];
