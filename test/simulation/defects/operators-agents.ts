import { type Defect, LONGER } from "./defect.ts";

/** Defects of agents. */
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
  {
    name: "agent-renamed-enabled",
    what: "An agent that is renamed is enabled.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: "const status = wanted.status ?? before.status;",
        replace: "const status = wanted.status ?? NEW_AGENT;",
      },
    ],
  },
  {
    name: "agent-switched-renamed",
    what: "An agent that is enabled gets back its first name.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: "const name = wanted.name ?? before.name;",
        replace: "const name = wanted.name ?? `Agent ${before.id}`;",
      },
    ],
  },
  {
    name: "agent-added-again",
    what: "Adding an agent that exists overwrites its name.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: `        .where(and(exists(here), notExists(taken(db, siteId, newcomers)))),
    ),`,
        replace:
          "        .where(sql`true`),\n    ).onConflictDoUpdate({ target: [agents.siteId, agents.id], set: { name: sql`excluded.name` } }),",
      },
    ],
  },
  {
    name: "agent-late-change",
    steps: LONGER,
    what: "A change of an agent that D1 applies late undoes one that was answered since.",
    edits: [
      {
        file: "src/store/home/agents.ts",
        find: "const unchanged = and(named, eq(agents.revision, before.revision));",
        replace: "const unchanged = named;",
      },
      {
        file: "src/store/home/agents.ts",
        find: "ne(agents.name, name)",
        replace: "sql`${agents.name} <> ${wanted.name ?? null}`",
      },
      {
        file: "src/store/home/agents.ts",
        find: "ne(agents.status, status)",
        replace: "sql`${agents.status} <> ${wanted.status ?? null}`",
      },
      {
        file: "src/store/home/agents.ts",
        find: ".set({ name, status, revision: before.revision + 1 })",
        replace: ".set({ ...wanted, revision: sql`${agents.revision} + 1` })",
      },
    ],
  },
];
