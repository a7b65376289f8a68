import * as z from "zod/mini";
import { receiptData, receiptSchema } from "../../http/customer-data.ts";
import { customerErasureSchema } from "../../services/customers.ts";
import { eraseCustomer } from "../../services/erase-customer.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, count, REQUEST_ID_EXAMPLE, time } from "../words.ts";
import { sbs } from "./customer-words.ts";

export default adminCall(
  {
    id: "eraseCustomer",
    method: "post",
    path: "/sites/:site_id/customers/erase",
    role: "owner",
    scope: "site",
    audit: ["customer.erasure_begun", "customer.erased"],
    body: customerErasureSchema,
    exactField: "sbs",
    response: z.object({
      erasure_id: z.string(),
      erased: z.object({
        sessions: z.int(),
        messages: z.int(),
        participants: z.int(),
        events: z.int(),
        deliveries: z.int(),
      }),
      remaining: z.int(),
      customer_is_back: z.boolean(),
      webhooks: z.array(
        z.object({
          id: z.string(),
          url: z.nullable(z.string()),
          delivered: z.int(),
          may_have_arrived: z.int(),
          told: z.boolean(),
        }),
      ),
      time_travel_until: z.int(),
      idempotency_keys_until: z.int(),
      receipts: z.optional(z.array(receiptSchema)),
    }),
  },
  async (c, { site, body }) => {
    const erasure = await eraseCustomer(c.var.ctx, { site, ...body });
    return {
      ...erasure,
      erasureId: erasure.id,
      customerIsBack: erasure.isBack,
      webhooks: erasure.recipients.map((each) => ({ ...each, mayHaveArrived: each.attempted })),
      idempotencyKeysUntil: erasure.keysUntil,
      receipts: erasure.receipts?.map(receiptData),
    };
  },
);

export const documentation = (): CallDocumentation => {
  const erasureId = {
    description: "The erasure's id: its rows of the audit log have it as `subject`.",
    examples: [REQUEST_ID_EXAMPLE],
  };
  return {
    summary: "Erase a customer",
    chinese: "抹除一个客户的数据",
    description: [
      "Erases the customer's sessions up to the site's highest id at the first call that erases, with messages, participants and the data of their events, and the customer once no session is left. Bounded steps: send the same call again until `remaining` is 0. A customer who was erased is 200, with nothing erased; one who is unknown and never was erased is 404. It is 503, with nothing half deleted, while the home or `main` is closed, or while a database or KV does not answer.",
      "",
      "Not erased: what D1's Time Travel keeps until `time_travel_until`, what receivers have got (`webhooks`), Idempotency-Keys until `idempotency_keys_until`, and the caller's own data.",
    ].join("\n"),
    body: { name: "CustomerErasure", fields: { sbs: sbs() } },
    response: {
      name: "ErasedCustomer",
      fields: {
        erasure_id: erasureId,
        erased: {
          properties: {
            sessions: count("Deleted by this call.", 1),
            messages: count("Deleted by this call.", 1),
            participants: count("Deleted by this call.", 1),
            events: count("Events whose data is gone by this call.", 1),
            deliveries: count("Deliveries that were pending or had failed, and now are `skipped`.", 1),
          },
        },
        remaining: count("Sessions that are left: send the same call again until it is 0."),
        customer_is_back: {
          description:
            "Whether the customer has sessions that came after this erasure began: they stay. Once `remaining` is 0, the same call again erases them too.",
          examples: [false],
        },
        webhooks: {
          description:
            "The site's webhooks, and those deleted since the erasure began that have got something: tell their receivers where `told` is false.",
          items: {
            properties: {
              id: { description: "The webhook.", examples: ["wh_5f0c1e7a9b3d4c2e8f6a7b1d0c9e3f42"] },
              url: {
                description: "Where it posts to; null when it is deleted.",
                examples: ["https://hooks.example.com/"],
              },
              delivered: count("Erased events that its receiver has got, as far as deliveries are kept.", 1),
              may_have_arrived: count(
                "Other erased events that were posted to it at least once: its receiver may have them.",
                1,
              ),
              told: {
                description:
                  "Whether `session.erased` was queued for it, for all sessions that are gone so far; before the first is gone, whether it would be.",
                examples: [true],
              },
            },
          },
        },
        time_travel_until: time("Until then D1's Time Travel can bring the data back."),
        idempotency_keys_until: time(
          "Until then the texts of the Idempotency-Keys of the customer's calls may be kept, with fingerprints.",
        ),
        receipts: {
          description:
            "Only where no KV is bound: keep them for 31 days. Settling a restored home needs them to erase again.",
          items: {
            properties: {
              erasure_id: erasureId,
              site_id: { description: "The site.", minimum: 1, examples: [1] },
              hash: {
                description: "The keyed hash of the customer's identifier.",
                examples: [`1f2e3d4c.${"0".repeat(64)}`],
              },
              highest_chat_id: { description: "Later sessions are not erased.", minimum: 0, examples: [900220] },
              chat_ids: { description: "The sessions.", examples: [[900220]] },
            },
          },
        },
      },
    },
    answered: "What this call has erased, and what is left.",
  };
};
