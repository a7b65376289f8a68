import * as z from "zod/mini";
import { DRILL_CASE_NAMES, DRILL_CLASSES, drillWebhook } from "../../services/drill-webhook.ts";
import { adminCall } from "../admin-call.ts";
import { webhookIdOf } from "../webhooks/webhook.ts";
import type { CallDocumentation } from "../words.ts";

const drillResult = z.object({
  case: z.enum(DRILL_CASE_NAMES),
  status: z.nullable(z.int()),
  expected: z.enum(DRILL_CLASSES),
  ok: z.boolean(),
});

export default adminCall(
  {
    id: "drillWebhook",
    method: "post",
    path: "/sites/:site_id/webhooks/:webhook_id/drill",
    role: "operator",
    scope: "site",
    audit: ["webhook.drilled"],
    response: z.object({ ok: z.boolean(), results: z.array(drillResult) }),
  },
  (c, { site }) => drillWebhook(c.var.ctx, { site, webhookId: webhookIdOf(c) }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Drill the receiver of a webhook",
  chinese: "演练 Webhook 的接收端",
  description: [
    "Posts six events of type `ping` to the webhook, one after the other, and says what its receiver answered to each. A right receiver answers three of them with 2xx and refuses three with 4xx. Each may take 15 s, so the answer may take up to 90 s. No event and no delivery is stored, and the webhook's state does not change.",
    "A webhook is drilled at most once in 60 s: then 429. A URL that events cannot be posted to is 400, and nothing is posted.",
  ].join("\n\n"),
  response: {
    name: "Drill",
    fields: {
      ok: { description: "Whether the receiver passed every case.", examples: [false] },
      results: { description: "The cases, in the order of their posts." },
    },
  },
  parts: [
    {
      name: "DrillResult",
      schema: drillResult,
      fields: {
        case: {
          description:
            "`good`: as events are. `twice`: the same event again, signed anew, as a retry is. `forged`: its signature is wrong near its end. `stale`: with a timestamp 600 s old. `altered`: the body got a blank at its end after it was signed. `previous_secret`: only its second signature is right, as it is for a receiver with the secret of before during an overlap.",
          examples: ["forged"],
        },
        status: { description: "The HTTP status that the receiver answered; null without an answer.", examples: [200] },
        expected: { description: "The statuses that pass.", examples: ["4xx"] },
        ok: { description: "Whether the status is one of those.", examples: [false] },
      },
    },
  ],
  answered: "What the receiver answered.",
});
