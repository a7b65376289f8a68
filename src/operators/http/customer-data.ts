import * as z from "zod/mini";
import type { ExportedCustomer } from "../services/customers.ts";
import type { Receipt } from "../services/erase-customer.ts";
import { EVENT_TYPES } from "../services/webhooks.ts";
import { sessionFields, sessionShape } from "./session-data.ts";
import type { ShownAnswer } from "./show.ts";

/** This file makes the JSON about a customer for both surfaces of operators. */

export const customerSchema = z.object({
  sbs: z.string(),
  name: z.string(),
  ip: z.string(),
  created_at: z.int(),
  updated_at: z.int(),
});

export const exportedSessionSchema = z.object({
  ...sessionShape,
  appid: z.string(),
  request_id: z.nullable(z.string()),
  participants: z.array(z.object({ agent_id: z.int(), added_by: z.int(), added_at: z.int() })),
  messages: z.array(
    z.object({
      sender: z.enum(["visitor", "agent"]),
      sender_uid: z.nullable(z.int()),
      content: z.string(),
      created_at: z.int(),
    }),
  ),
});

export const exportSchema = z.object({
  customer: customerSchema,
  sessions: z.array(exportedSessionSchema),
  events: z.array(
    z.object({
      id: z.string(),
      seq: z.int(),
      type: z.enum(EVENT_TYPES),
      chat_id: z.int(),
      created_at: z.int(),
      data: z.nullable(z.record(z.string(), z.unknown())),
    }),
  ),
  next_cursor: z.nullable(z.string()),
});

export const customerData = <Stored extends { externalId: string }>(customer: Stored) => ({
  ...customer,
  sbs: customer.externalId,
});

export const sessionData = (
  session: ExportedCustomer["sessions"][number],
): ShownAnswer<z.output<typeof exportedSessionSchema>> => ({
  ...session,
  ...sessionFields(session),
  metadata: session.metadata ?? {},
});

export const exportData = ({
  customer,
  sessions,
  events,
  nextCursor,
}: ExportedCustomer): ShownAnswer<z.output<typeof exportSchema>> => ({
  customer: customerData(customer),
  sessions: sessions.map(sessionData),
  // Every event here is about one of the sessions.
  events: events.map((event) => ({ ...event, chatId: event.sessionId as number })),
  nextCursor,
});

/** A receipt that the operator keeps. To settle a restored home, the operator sends it back unchanged. */
export const receiptSchema = z.object({
  erasure_id: z.string(),
  site_id: z.int(),
  hash: z.string(),
  highest_chat_id: z.int(),
  chat_ids: z.array(z.int()),
});

export const receiptData = (receipt: Receipt) => ({ ...receipt, highestChatId: receipt.until });
