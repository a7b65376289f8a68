import { type Defect, LONGER } from "./defect.ts";

/** Defects of whole homes: closed, pruned or down. */
export const HOME_DEFECTS: Defect[] = [
  {
    name: "prune-early",
    what: "Rows are pruned a minute before they expire.",
    edits: [
      {
        file: "src/store/pruner.ts",
        find: "lte(sql`${expiresAt}`, run.now)",
        replace: "lte(sql`${expiresAt}`, run.now + 60)",
      },
    ],
  },
  {
    name: "prune-closed-home",
    what: "A closed home is pruned too.",
    edits: [{ file: "src/store/prune.ts", find: ".filter(([home]) => !closedHomes.has(home))", replace: "" }],
  },
  {
    name: "prune-without-keys",
    what: "The keys' rows are never pruned.",
    edits: [
      {
        file: "src/store/pruner.ts",
        find: "lte(sql`${expiresAt}`, run.now)",
        replace: "sql`${expiresAt} <= ${run.now} AND ${getTableName(table)} = 'nonces'`",
      },
    ],
  },
  {
    name: "prune-first-home-only",
    what: "A run prunes only one home.",
    edits: [
      {
        file: "src/store/prune.ts",
        find: "const all = served.flatMap(",
        replace: "const all = served.slice(0, 1).flatMap(",
      },
    ],
  },
  {
    name: "directory-open-under-restore",
    what: "Sites and apps are made while the directory may be under restore.",
    edits: [
      {
        file: "src/services/service-context.ts",
        find: "if (config.closedHomes.has(MAIN_HOME)) throw",
        replace: "if (config.closedHomes.has('')) throw",
      },
    ],
  },
  {
    name: "closed-home-served",
    what: "A closed home is served.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: "if (found !== undefined && config.closedHomes.has(found.credentials.home)) {",
        replace: "if (found !== undefined && config.closedHomes.has('')) {",
      },
      {
        file: "src/signed/decide.ts",
        find: "if (config.closedHomes.has(home)) throw",
        replace: "if (config.closedHomes.has('')) throw",
      },
    ],
  },
  {
    name: "kv-holds-closed-home",
    what: "Callers of a closed home wait for KV.",
    edits: [
      {
        file: "src/credentials/hedge.ts",
        find: `isRefusedFor(error, "home_closed") && refuse(error)`,
        replace: `isRefusedFor(error, "") && refuse(error)`,
      },
    ],
  },
  {
    name: "silent-home-healthy",
    steps: LONGER,
    what: "/healthz reports a silent home as ok.",
    edits: [
      {
        file: "src/services/health.ts",
        find: 'return { name, state: "down" as const, error };',
        replace: 'return { name, state: "ok" as const };',
      },
    ],
  },
  {
    name: "closed-home-healthy",
    what: "/healthz reports a closed home as one that serves.",
    edits: [{ file: "src/services/health.ts", find: 'if (closedHomes.has(home)) return "closed";', replace: "" }],
  },
];
