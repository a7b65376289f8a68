import type { Defect } from "../defect.ts";

/** Defects of homes: closed, restored, and reconciled. */
export const HOME_DEFECTS: Defect[] = [
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
    name: "settling-overwrites-change",
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
    name: "floor-falls-with-the-newest-session",
    what: "When the newest session of a site goes, the site's floor becomes that session's id, also when the floor is higher already.",
    edits: [
      {
        file: "src/store/home/chosen-sessions.ts",
        find: " AND ${homeSites.chatIdFloor} < ${v.lastChatId} AND ${condition}",
        replace: " AND ${condition}",
      },
    ],
  },
  {
    name: "change-before-settling-opens-the-site",
    what: "A change of a site in a restored home starts from the home's own row even when the directory's copy is newer, but gets a revision above both.",
    edits: [
      {
        file: "src/store/home/sites.ts",
        find: "  const isOlder = before.revision < known.revision;\n  const { name, status, retentionDays } = isOlder ? known : before;",
        replace: "  const { name, status, retentionDays } = before;",
      },
    ],
  },
  {
    name: "home-noted-as-copied-too-early",
    what: "Settling main notes that a home is copied after its sites came, before its routes and ended sites have come.",
    edits: [
      {
        file: "src/services/homes.ts",
        find: "    await copyRoutesToDirectory(directory, name, other);\n    await keepDeletionsOf(ctx, name, other);\n    await noteCopied(directory, reconciliationId, name, now);",
        replace:
          "    await noteCopied(directory, reconciliationId, name, now);\n    await copyRoutesToDirectory(directory, name, other);\n    await keepDeletionsOf(ctx, name, other);",
      },
    ],
  },
  {
    name: "kv-is-believed-to-know-every-site",
    what: "Settling main skips the 100 site ids of reserve only when KV knows no site id at all.",
    edits: [
      {
        file: "src/store/reconciliations.ts",
        find: "siteIdFloor: sql`max(${highestSite}, ${newestSite}) + ${SKIPPED_SITES}`",
        replace: "siteIdFloor: sql`max(${highestSite}, ${newestSite} + ${highestSite > 0 ? 0 : SKIPPED_SITES})`",
      },
    ],
  },
];
