import type { Defect } from "../defect.ts";

/** Defects that show a secret or a person. */
export const SECRECY_DEFECTS: Defect[] = [
  {
    name: "kv-receipt-names-the-customer",
    what: "The receipt of an erasure in KV has the customer's id in place of the hash.",
    edits: [
      {
        file: "src/services/erase-customer.ts",
        find: "{ id: erasureId, hash, until, listedTo, listedAt }: OpenErasure,",
        replace: "{ id: erasureId, hash, until, listedTo, listedAt, externalId }: OpenErasure,",
      },
      {
        file: "src/services/erase-customer.ts",
        find: "writeReceipt(config.credentials, receipt)",
        replace: "writeReceipt(config.credentials, { ...receipt, hash: externalId })",
      },
    ],
  },
  {
    name: "kv-record-with-an-open-secret",
    what: "The record of a new app in KV has its secret unsealed.",
    edits: [
      {
        file: "src/services/apps.ts",
        find: "publishApp(ctx, { siteId, appid, home, version, secret: sealed, ...fresh });",
        replace: "publishApp(ctx, { siteId, appid, home, version, secret, ...fresh });",
      },
    ],
  },
  {
    name: "journal-quotes-the-signature",
    what: "A refused call goes to the journal with its signature.",
    edits: [
      {
        file: "src/http/signed/journal-refusals.ts",
        find: "detail: detail?.slice(0, LONGEST_DETAIL) ?? null,",
        replace: 'detail: c.req.header("x-chat-signature") ?? detail?.slice(0, LONGEST_DETAIL) ?? null,',
      },
    ],
  },
  {
    name: "log-quotes-the-key",
    what: "The log of a refused call has its Idempotency-Key.",
    edits: [
      {
        file: "src/http/signed/envelope.ts",
        find: "c.var.trace.detail = refused.detail;",
        replace: 'c.var.trace.detail = c.req.header("idempotency-key") ?? refused.detail;',
      },
    ],
  },
  {
    name: "log-names-the-erased",
    what: "The log says whom an operator erases.",
    edits: [
      {
        file: "src/services/erase-customer.ts",
        find: "  if (begun === undefined) throw customerUnknown();\n",
        replace:
          "  if (begun === undefined) throw customerUnknown();\n  ctx.telemetry.warn({ warning: `erasing ${externalId}` });\n",
      },
    ],
  },
];
