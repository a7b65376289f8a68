import * as z from "zod/mini";
import { pathId } from "../../http/path-id.ts";
import { redeliver } from "../../services/events.ts";
import { eventUnknown } from "../../services/refusals.ts";
import { adminCall } from "../admin-call.ts";
import { eventId, seq } from "../events/event.ts";
import { webhookIdOf } from "../webhooks/webhook.ts";
import type { CallDocumentation } from "../words.ts";

export default adminCall(
  {
    id: "redeliver",
    method: "post",
    path: "/sites/:site_id/webhooks/:webhook_id/deliveries/:seq/redeliver",
    role: "operator",
    scope: "site",
    audit: ["webhook.redelivered"],
    status: 202,
    response: z.object({ event_id: z.string(), seq: z.int() }),
  },
  (c, { site }) => redeliver(c.var.ctx, { site, webhookId: webhookIdOf(c), seq: pathId(c, "seq", eventUnknown) }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Deliver an event again",
  chinese: "重新投递一个事件",
  description:
    "Any event that is kept, also one that this webhook never had. It begins anew, with 8 attempts; when an attempt is under way and fails, the first of 8 follows. 409 when the webhook is disabled or the event was erased.",
  response: { name: "Redelivery", fields: { event_id: eventId(), seq: seq() } },
  answered: "The event is on its way.",
});
