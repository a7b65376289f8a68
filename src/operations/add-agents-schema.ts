import * as z from "zod/mini";
import { positiveId, rule } from "../fields.ts";

const CHAT_ID_RULE = rule("must be an integer");
const IDS_RULE =
  "must be 1 to 100 agent ids (one named twice counts once), as positive integers between commas or as an array";

/** "10427, 10428": positive integers between commas, blanks around them allowed. */
const LISTED_IDS = /^[ \t]*[1-9][0-9]*[ \t]*(,[ \t]*[1-9][0-9]*[ \t]*)*$/;

const listedIds = z.pipe(
  z.string().check(z.regex(LISTED_IDS)),
  z.transform((list) => list.split(",").map(Number)),
);

/** Fields of add_kf on the wire, contract section 4.2. */
export const addAgentsWireSchema = z.object({
  chat_id: z.int(CHAT_ID_RULE),
  kefu_ids: z.pipe(z.union([listedIds, z.array(positiveId)], rule(IDS_RULE)), z.array(positiveId, IDS_RULE)).check(
    z.refine((ids) => ids.length > 0 && new Set(ids).size <= 100, {
      error: IDS_RULE,
      params: { minItems: 1, maxItems: 100 },
    }),
  ),
});

/** What add_kf means, in the terms used inside. Agents are sorted and without duplicates, so equal meanings are equal text. */
export const addAgentsSchema = z.pipe(
  addAgentsWireSchema,
  z.transform((wire) => ({
    sessionId: wire.chat_id,
    agentIds: [...new Set(wire.kefu_ids)].sort((a, b) => a - b),
  })),
);

export type AddAgents = z.infer<typeof addAgentsSchema>;
