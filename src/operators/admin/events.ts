import { eventQuerySchema, listEvents, type SiteEvent } from "../services/events.ts";
import { adminCall } from "./call.ts";

const shownEvent = ({ id, seq, type, createdAt, data }: SiteEvent) => ({
  id,
  seq,
  type,
  created_at: createdAt,
  data,
});

export const eventCalls = [
  adminCall(
    {
      id: "listEvents",
      method: "get",
      path: "/sites/:site_id/events",
      role: "viewer",
      scope: "site",
      audit: [],
      query: eventQuerySchema,
    },
    async (c, { site, query }) => {
      const items = await listEvents(c.var.ctx, { site, ...query });
      return c.json({ items: items.map(shownEvent) });
    },
  ),
];
