import { agentSchema } from "../../http/site-data.ts";
import { type NamedSchema, name } from "../words.ts";

export { agentSchema } from "../../http/site-data.ts";

export const agent = (): NamedSchema => ({
  name: "Agent",
  schema: agentSchema,
  fields: {
    id: { description: "The agent's id, as the operator gave it.", minimum: 1, examples: [10411] },
    name: name("What the agent is called", "Li Na"),
    status: { description: "Only agents in normal status can be put on sessions.", examples: ["normal"] },
  },
});
