import * as z from "zod/mini";
import { AGENT_STATUSES } from "../../services/agents.ts";
import { type NamedSchema, name } from "../words.ts";

export const agentSchema = z.object({ id: z.int(), name: z.string(), status: z.enum(AGENT_STATUSES) });

export const agent = (): NamedSchema => ({
  name: "Agent",
  schema: agentSchema,
  fields: {
    id: { description: "The agent's id, as the operator gave it.", minimum: 1, examples: [10411] },
    name: name("What the agent is called", "Li Na"),
    status: { description: "Only agents in normal status can be put on sessions.", examples: ["normal"] },
  },
});
