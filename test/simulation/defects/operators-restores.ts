import { type Defect, LONGER } from "./defect.ts";

/** By then, most seeds with restores have restored a home twice. */
const TWO_RESTORES = 24_000;

/** Defects of restores: how a home is reconciled, and what the operator is told. */
export const RESTORE_DEFECTS: Defect[] = [
  {
    name: "lift-by-floor-only",
    what: "Reconciling a restored home skips ids above the floor, and ignores sessions with higher ids.",
    edits: [
      {
        file: "src/store/reconciliations.ts",
        find: "const highest = sql`max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)})`;",
        replace: "const highest = sql`${homeSites.chatIdFloor}`;",
      },
    ],
  },
  {
    name: "restore-without-lift",
    what: "Reconciling a restored home skips ids of no site.",
    edits: [
      {
        file: "src/services/homes.ts",
        find: "const reconciliation = { id: reconciliationId, home, skip };",
        replace: "const reconciliation = { id: reconciliationId, home, skip: 0 };",
      },
    ],
  },
  {
    name: "restored-home-without-sites",
    what: "A restored home does not get its lost sites back.",
    edits: [
      {
        file: "src/services/homes.ts",
        find: "if (home !== MAIN_HOME) await copySitesToHome(directory, home, db, begunAt === undefined ? 0 : skip);",
        replace: "if (home === '') await copySitesToHome(directory, home, db, begunAt === undefined ? 0 : skip);",
      },
    ],
  },
  {
    name: "restored-home-first-id",
    steps: LONGER,
    what: "A restored home forgets a first_chat_id that was set after the point.",
    edits: [
      {
        file: "src/store/copy-sites.ts",
        find: 'chatIdFloor: sql`max(${homeSites.chatIdFloor}, ${excluded("chat_id_floor")} - ${skip})`,',
        replace: "",
      },
      {
        file: "src/services/homes.ts",
        find: "const remembered = await readFloors(credentials, home, askKv);",
        replace: "const remembered = { floors: [], highestSite: 0 };",
      },
    ],
  },
  {
    name: "restored-directory-without-routes",
    steps: LONGER,
    what: "A restored directory does not get the routes of the other homes back.",
    edits: [
      {
        file: "src/store/copy-sites.ts",
        find: `.innerJoin(sites, and(eq(sites.id, field("siteId")), eq(sites.home, home))),`,
        replace: `.innerJoin(sites, and(eq(sites.id, field("siteId")), eq(sites.home, ''))),`,
      },
    ],
  },
  {
    name: "lift-not-in-directory",
    what: "The new floors of a further home are kept neither in the directory nor in KV, so a second restore gives ids twice.",
    steps: TWO_RESTORES,
    edits: [
      {
        file: "src/services/homes.ts",
        find: "if (home !== MAIN_HOME) await keepInDirectory(directory, reconciliation, floors, authorOf(ctx));",
        replace: "if (home === '') await keepInDirectory(directory, reconciliation, floors, authorOf(ctx));",
      },
      {
        file: "src/services/homes.ts",
        find: "await askKv(() => writeReconciledFloors(credentials, home, reconciliationId, floors));",
        replace: "await askKv(() => writeReconciledFloors(credentials, home, reconciliationId, []));",
      },
    ],
  },
  {
    name: "lift-of-main-not-in-kv",
    what: "The new floors of `main` are not kept in KV, so a second restore gives ids twice.",
    steps: TWO_RESTORES,
    edits: [
      {
        file: "src/services/homes.ts",
        find: "await askKv(() => writeReconciledFloors(credentials, home, reconciliationId, floors));",
        replace: "await askKv(() => writeReconciledFloors(credentials, home, reconciliationId, []));",
      },
    ],
  },
  {
    name: "first-id-of-main-not-in-kv",
    what: "A first_chat_id of a site in `main` is not kept in KV, so a restore forgets it and skips only the usual ids.",
    steps: TWO_RESTORES,
    edits: [
      {
        file: "src/services/homes.ts",
        find: "const remembered = await readFloors(credentials, home, askKv);",
        replace:
          "const remembered = { floors: [], highestSite: (await readFloors(credentials, home, askKv)).highestSite };",
      },
    ],
  },
  {
    name: "settling-lifts-again",
    what: "The same reconciliation sent again skips ids again.",
    edits: [
      {
        file: "src/store/reconciliations.ts",
        find: "        eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${skip}`,\n      })\n      .where(CHANGED),",
        replace: "        eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${skip}`,\n      }),",
      },
    ],
  },
  {
    name: "settles-open-home",
    what: "An open home is reconciled without `force`.",
    edits: [
      {
        file: "src/services/homes.ts",
        find: "if (!closedHomes.has(home) && !force) throw",
        replace: "if (!closedHomes.has(home) && home === '') throw",
      },
    ],
  },
  {
    name: "divergent-without-revoked",
    what: "The list after a restore does not name revoked apps.",
    edits: [
      {
        file: "src/services/divergent-apps.ts",
        find: "if (record.revokedAt !== null) return",
        replace: "if (record.revokedAt === 0) return",
      },
    ],
  },
  {
    name: "divergent-without-rotated",
    what: "The list after a restore does not name rotated apps.",
    edits: [
      {
        file: "src/services/divergent-apps.ts",
        find: 'return record.version === version ? undefined : "rotated";',
        replace: 'return record.version !== "" ? undefined : "rotated";',
      },
    ],
  },
  {
    name: "divergent-without-missing",
    what: "The list after a restore does not name missing apps.",
    edits: [
      {
        file: "src/services/divergent-apps.ts",
        find: `if (version === null) return "missing";`,
        replace: "if (version === null) return undefined;",
      },
    ],
  },
  {
    name: "reopen-too-early",
    what: "reopen_after allows opening a restored home before old requests are stale.",
    edits: [
      {
        file: "src/services/homes.ts",
        find: "const reopenAfter = at + NONCE_SECONDS;",
        replace: "const reopenAfter = at + 300;",
      },
    ],
  },
  {
    name: "settling-undoes-change",
    what: "Reconciling a restored home undoes changes of operators since the restore.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "revision: Math.max(before.revision, known.revision) + 1,",
        replace: "revision: before.revision + 1,",
      },
    ],
  },
  {
    name: "settling-overwrites-change",
    steps: LONGER,
    what: "Reconciling a restored home gives a site the directory's name and status, even if the home's are newer.",
    edits: [
      {
        file: "src/store/copy-sites.ts",
        find: "name: newer(homeSites.revision, homeSites.name),",
        replace: 'name: excluded("name"),',
      },
      {
        file: "src/store/copy-sites.ts",
        find: "status: newer(homeSites.revision, homeSites.status),",
        replace: 'status: excluded("status"),',
      },
    ],
  },
];
