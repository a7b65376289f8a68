import { type Defect, oneEditDefect } from "../planted-defect.ts";

export const HOME_DEFECTS: Defect[] = [
  oneEditDefect(
    "lift-by-floor-only",
    "Reconciling a restored home skips ids above the floor, and ignores sessions with higher ids.",
    "src/operators/store/reconciliations.ts",
    "const highest = sql`max(${homeSites.chatIdFloor}, ${newestSessionId(homeSites.siteId)})`;",
    "const highest = sql`${homeSites.chatIdFloor}`;",
  ),
  oneEditDefect(
    "restored-home-without-sites",
    "A restored home does not get its lost sites back.",
    "src/operators/services/homes.ts",
    "if (home !== MAIN_HOME) await copySitesToHome(directory, home, db, begunAt === undefined ? 0 : skip);",
    "if (home === '') await copySitesToHome(directory, home, db, begunAt === undefined ? 0 : skip);",
  ),
  {
    name: "restored-home-first-id",
    what: "A restored home forgets a first_chat_id that was set after the point.",
    edits: [
      {
        file: "src/operators/store/copy-sites.ts",
        find: 'chatIdFloor: sql`max(${homeSites.chatIdFloor}, ${excludedColumn("chat_id_floor")} - ${skip})`,',
        replace: "",
      },
      {
        file: "src/operators/services/homes.ts",
        find: "const remembered = begunAt === undefined ? await recallTokens(ctx, db, reconciliation) : NO_FLOORS;",
        replace: "const remembered = NO_FLOORS;",
      },
    ],
  },
  oneEditDefect(
    "restored-directory-without-routes",
    "A restored directory does not get the routes of the other homes back.",
    "src/operators/store/copy-sites.ts",
    `.innerJoin(sites, and(eq(sites.id, rowField("siteId")), eq(sites.home, home))),`,
    `.innerJoin(sites, and(eq(sites.id, rowField("siteId")), eq(sites.home, ''))),`,
  ),
  {
    name: "lift-not-in-directory",
    what: "The new floors of another home than main are stored neither in the directory nor in KV, so a second restore gives ids twice.",
    edits: [
      {
        file: "src/operators/services/homes.ts",
        find: "if (home !== MAIN_HOME) await keepInDirectory(directory, reconciliation, floors, authorOf(ctx));",
        replace: "if (home === '') await keepInDirectory(directory, reconciliation, floors, authorOf(ctx));",
      },
      {
        file: "src/operators/services/homes.ts",
        find: "await askKv(() => writeReconciledFloors(credentials, home, reconciliationId, floors));",
        replace: "await askKv(() => writeReconciledFloors(credentials, home, reconciliationId, []));",
      },
    ],
  },
  oneEditDefect(
    "settling-lifts-again",
    "A repeated call of the same reconciliation skips ids again.",
    "src/operators/store/reconciliations.ts",
    "        eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${skip}`,\n      })\n      .where(CHANGED),",
    "        eventSeqFloor: sql`max(${homeSites.eventSeqFloor}, ${newestSeq}) + ${skip}`,\n      }),",
  ),
  {
    name: "settling-overwrites-change",
    what: "Reconciling a restored home gives a site the directory's name and status, even if the home's are newer.",
    edits: [
      {
        file: "src/operators/store/copy-sites.ts",
        find: "name: newerValue(homeSites.revision, homeSites.name),",
        replace: 'name: excludedColumn("name"),',
      },
      {
        file: "src/operators/store/copy-sites.ts",
        find: "status: newerValue(homeSites.revision, homeSites.status),",
        replace: 'status: excludedColumn("status"),',
      },
    ],
  },
  oneEditDefect(
    "reopen-too-early",
    "reopen_after allows opening a restored home before old requests are stale.",
    "src/operators/services/homes.ts",
    "const reopenAfter = at + NONCE_SECONDS;",
    "const reopenAfter = at + 300;",
  ),
  oneEditDefect(
    "directory-open-under-restore",
    "Sites and apps are made while the directory may be under restore.",
    "src/operators/services/service-context.ts",
    "if (config.closedHomes.has(MAIN_HOME)) throw",
    "if (config.closedHomes.has('')) throw",
  ),
  oneEditDefect(
    "floor-falls-with-the-newest-session",
    "When the newest session of a site is deleted, the site's floor becomes that session's id, even if the floor is already higher.",
    "src/operators/store/home/chosen-sessions.ts",
    " AND ${homeSites.chatIdFloor} < ${v.lastChatId} AND ${condition}",
    " AND ${condition}",
  ),
  oneEditDefect(
    "change-before-settling-opens-the-site",
    "A change of a site in a restored home uses the home's own row even if the directory's copy is newer, but gets a revision above both.",
    "src/operators/store/home/sites.ts",
    "  const isOlder = before.revision < knownSite.revision;\n  const { name, status, retentionDays } = isOlder ? knownSite : before;",
    "  const { name, status, retentionDays } = before;",
  ),
  oneEditDefect(
    "home-noted-as-copied-too-early",
    "Settling main notes a home as copied when only its sites are copied, and not yet its routes and ended sites.",
    "src/operators/services/homes.ts",
    "    await copyRoutesToDirectory(directory, name, other);\n    await keepDeletionsOf(ctx, name, other);\n    await noteCopied(directory, reconciliationId, name, now);",
    "    await noteCopied(directory, reconciliationId, name, now);\n    await copyRoutesToDirectory(directory, name, other);\n    await keepDeletionsOf(ctx, name, other);",
  ),
  oneEditDefect(
    "kv-is-believed-to-know-every-site",
    "Settling main skips the 100 site ids of reserve only when KV knows no site id at all.",
    "src/operators/store/reconciliations.ts",
    "max(coalesce(site_id_floor, ${highestSite + SITE_IDS_TO_SKIP}), ${newestSite} + ${SITE_IDS_TO_SKIP})",
    "max(${highestSite}, ${newestSite} + ${highestSite > 0 ? 0 : SITE_IDS_TO_SKIP})",
  ),
  oneEditDefect(
    "settling-undoes-change",
    "Reconciling a restored home undoes changes of operators since the restore.",
    "src/operators/store/home/sites.ts",
    "revision: Math.max(before.revision, knownSite.revision) + 1,",
    "revision: before.revision + 1,",
  ),
];
