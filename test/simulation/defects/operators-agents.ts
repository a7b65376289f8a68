import type { Defect } from "./defect.ts";

/** Of agents. */
export const AGENT_DEFECTS: Defect[] = [
  {
    name: "agent-of-all-sites",
    what: "An agent is changed on every site of the home.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: "const named = and(eq(agents.siteId, siteId), eq(agents.id, id));",
        replace: "const named = eq(agents.id, id);",
      },
    ],
  },
];
