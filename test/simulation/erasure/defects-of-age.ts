import type { Defect } from "../defect.ts";

const OLD_SESSIONS = "src/store/home/old-sessions.ts";
const SITE_DELETIONS = "src/store/home/site-deletions.ts";
const DELETE_SITE = "src/services/delete-site.ts";

/** Defects of keeping sessions for so long, and of the ends of sites. */
export const AGE_DEFECTS: Defect[] = [
  {
    name: "longer-retention-comes-too-late",
    what: "A batch of the cron job asks only whether the site has a retention, not whether it is the one that was read.",
    edits: [
      {
        file: OLD_SESSIONS,
        find: "AND (${homeSites.retentionDays} = ${v.retentionDays}",
        replace: "AND (${homeSites.retentionDays} IS NOT NULL",
      },
    ],
  },
  {
    name: "retention-gives-seqs-again",
    what: "The floor of seqs does not rise when a site's newest event goes.",
    edits: [
      {
        file: OLD_SESSIONS,
        find: "AND ${homeSites.eventSeqFloor} < (SELECT",
        replace: "AND ${homeSites.eventSeqFloor} > (SELECT",
      },
    ],
  },
  {
    name: "retention-forgets-who-is-next",
    what: "No site is found whose oldest session is too old.",
    edits: [
      {
        file: "src/store/prune-sessions.ts",
        find: "${keptUntil} <= ${run.now}",
        replace: "${keptUntil} <= ${run.now} - 9e9",
      },
    ],
  },
  {
    name: "end-of-an-open-site",
    what: "A site ends that is open.",
    edits: [
      {
        file: SITE_DELETIONS,
        find: 'eq(homeSites.name, name), eq(homeSites.status, "closed"));',
        replace: "eq(homeSites.name, name));",
      },
    ],
  },
  {
    name: "cron-ends-a-site-that-nobody-kept",
    what: "The cron goes on with a site's deletion that its home has begun, although the directory does not know of it.",
    edits: [
      {
        file: "src/store/prune-deleted-sites.ts",
        find: 'if (site?.home !== deletion.home || site.status !== "deleting") return false;',
        replace: "if (site?.home !== deletion.home) return false;",
      },
    ],
  },
  {
    name: "end-without-receipt-in-kv",
    what: "KV does not learn that a site ends.",
    edits: [
      {
        file: DELETE_SITE,
        find: "await fromKv(ctx)(() => writeSiteDeletion(config.credentials, home, { ...deletion, hash }));",
        replace: "void [hash, fromKv, writeSiteDeletion];",
      },
    ],
  },
  {
    name: "end-before-the-directory-knows",
    what: "Apps and webhooks go before the directory knows that the site ends.",
    edits: [
      {
        file: DELETE_SITE,
        find: "  await keepDeletion(runtime, config.directory, deletion, now, answerBy);\n  await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);\n",
        replace:
          "  await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);\n  await keepDeletion(runtime, config.directory, deletion, now, answerBy);\n",
      },
    ],
  },
  {
    name: "settling-ends-no-site",
    what: "A restored home keeps the sites that have ended.",
    edits: [
      {
        file: "src/services/delete-again.ts",
        find: "await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);\n      again++;",
        replace: "void [stopSite, authorOf];",
      },
    ],
  },
];
