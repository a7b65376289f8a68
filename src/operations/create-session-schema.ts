import * as z from "zod/mini";
import { positiveId, rule, text } from "../fields.ts";

const AGENTS_RULE = "must be an array of 1 to 100 agent ids (one named twice counts once)";
const SENDER_RULE = "must be 1, 2 or 3";
const IP_RULE = rule("must be an IPv4 or IPv6 address");

export const SENDERS = { 1: "customer", 2: "responsible_agent", 3: "system" } as const;

/** Fields of create_gd on the wire, contract section 4.1. A numeric sbs arrives here as its digits. */
export const createSessionWireSchema = z.object({
  sbs: text(1, 64, "must be a string of 1 to 64 characters, or an integer of as many digits"),
  ip: z.union([z.ipv4(IP_RULE), z.ipv6(IP_RULE)], IP_RULE),
  sbs_mc: text(1, 30),
  content: text(1, 2000),
  title: z.optional(text(1, 120)),
  kefu_id: z.array(positiveId, rule(AGENTS_RULE)).check(
    z.refine((ids) => ids.length > 0 && new Set(ids).size <= 100, {
      error: AGENTS_RULE,
      params: { minItems: 1, maxItems: 100 },
    }),
  ),
  fzr_uid: positiveId,
  sender_type: z._default(z.union([z.literal(1), z.literal(2), z.literal(3)], SENDER_RULE), 2),
});

/** What create_gd means, in the terms used inside. Agents are sorted and without duplicates, so equal meanings are equal text. */
export const createSessionSchema = z.pipe(
  createSessionWireSchema.check(
    z.refine((wire) => wire.kefu_id.includes(wire.fzr_uid), { path: ["fzr_uid"], error: "must be one of kefu_id" }),
  ),
  z.transform((wire) => ({
    customer: { externalId: wire.sbs, name: wire.sbs_mc, ip: wire.ip },
    content: wire.content,
    ...(wire.title !== undefined && { title: wire.title }),
    agentIds: [...new Set(wire.kefu_id)].sort((a, b) => a - b),
    responsibleAgentId: wire.fzr_uid,
    sender: SENDERS[wire.sender_type],
  })),
);

export type CreateSession = z.infer<typeof createSessionSchema>;
