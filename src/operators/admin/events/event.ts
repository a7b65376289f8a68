import { EVENT_TYPES, PING } from "../../services/webhooks.ts";
import type { JsonSchema } from "../words.ts";

/** The words for the fields that identify an event. */

export const eventId = (): JsonSchema => ({
  description: "The event's id: the `webhook-id` of each attempt.",
  examples: ["evt_0d1c2b3a495867768594a3b2c1d0e0f1"],
});

export const seq = (): JsonSchema => ({
  description: "Counts a site's events, from 1.",
  minimum: 1,
  examples: [42],
});

export const eventType = (): JsonSchema => ({ description: "What happened.", examples: ["session.created"] });

export const TYPES = [...EVENT_TYPES, PING] as const;

/** The name of an event's schemas: `session.agents_added` → `SessionAgentsAdded`. */
export const eventName = (type: string): string =>
  type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
