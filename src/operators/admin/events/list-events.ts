import * as z from "zod/mini";
import { eventQuerySchema, listEvents } from "../../services/events.ts";
import { adminCall } from "../admin-call.ts";
import { type CallDocumentation, pageQuery, time } from "../words.ts";
import { eventId, eventName, eventType, seq, TYPES } from "./event.ts";

const eventSchema = z.object({
  id: z.string(),
  seq: z.int(),
  type: z.enum(TYPES),
  created_at: z.int(),
  data: z.nullable(z.unknown()),
});

export default adminCall(
  {
    id: "listEvents",
    method: "get",
    path: "/sites/:site_id/events",
    role: "viewer",
    scope: "site",
    audit: [],
    query: eventQuerySchema,
    response: z.object({ items: z.array(eventSchema) }),
  },
  async (c, { site, query }) => ({ items: await listEvents(c.var.ctx, { site, ...query }) }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Pull a site's events",
  chinese: "主动拉取站点的事件",
  description:
    "For those who would rather pull than be posted to. Give the highest `seq` that you have as `after`. Events are kept 30 days unless the operator set another time, the newest one always.",
  query: {
    after: { description: "Only events with a higher `seq`." },
    limit: { ...pageQuery("").limit },
  },
  response: { name: "EventList", fields: { items: { description: "At most `limit` of them." } } },
  parts: [
    {
      name: "Event",
      schema: eventSchema,
      fields: {
        id: eventId(),
        seq: seq(),
        type: eventType(),
        created_at: time("When it happened."),
        data: {
          description: "What webhooks get as `data`; null once it was erased.",
          anyOf: [...TYPES.map((type) => ({ $ref: `#/components/schemas/${eventName(type)}Data` })), { type: "null" }],
        },
      },
    },
  ],
  answered: "The events, the oldest first.",
});
