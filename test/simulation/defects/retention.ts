import type { Defect } from "./defect.ts";

const PRUNE = "src/store/prune-sessions.ts";
const OLD = "src/store/home/old-sessions.ts";
const ENDS = "src/store/home/site-deletions.ts";
const DELETED = "src/store/prune-deleted-sites.ts";
const SERVICE = "src/services/delete-site.ts";
const AGAIN = "src/services/delete-again.ts";
const DIRECTORY = "src/store/directory/site-deletions.ts";
const SITES = "src/services/sites.ts";

/** Defects of keeping sessions for so long, of handing over a site, and of ending one. */
export const RETENTION_DEFECTS: Defect[] = [
  {
    name: "retention-in-another-unit",
    what: "Sessions go that are older than so many seconds.",
    edits: [{ file: PRUNE, find: "run.now - retentionDays * DAY }", replace: "run.now - retentionDays }" }],
  },
  {
    name: "retention-forgets-who-is-next",
    what: "No site is found whose oldest session is too old.",
    edits: [{ file: PRUNE, find: "${keptUntil} <= ${run.now}", replace: "${keptUntil} <= ${run.now} - 9e9" }],
  },
  {
    name: "retention-ignores-a-change",
    what: "Sessions go that were found before the site's retention became longer.",
    edits: [
      {
        file: OLD,
        find: "AND (${homeSites.retentionDays} = ${v.retentionDays}\n",
        replace: "AND (${v.retentionDays} IS NOT NULL\n",
      },
    ],
  },
  {
    name: "retention-takes-who-is-back",
    what: "A customer goes with an old session and has newer ones.",
    edits: [
      {
        file: OLD,
        find: "AND ${sessions.customerExternalId} = ${customers.externalId})`",
        replace: "AND ${sessions.customerExternalId} = ${customers.externalId} AND ${sessions.id} > 9e12)`",
      },
    ],
  },
  {
    name: "retention-keeps-customers",
    what: "Customers without sessions stay.",
    edits: [
      {
        file: OLD,
        find: "AND ${customers.externalId} IN (SELECT value FROM json_each(${v.externalIds}))",
        replace: "AND ${customers.externalId} IN (SELECT value FROM json_each(${v.externalIds}) WHERE key > 0)",
      },
    ],
  },
  {
    name: "retention-gives-ids-again",
    what: "The floor does not rise when a site's newest session goes.",
    edits: [
      {
        file: OLD,
        find: "raiseFloor(v, mayGo(v))",
        replace: "raiseFloor(v, sql`false`)",
      },
    ],
  },
  {
    name: "retention-gives-seqs-again",
    what: "The floor of seqs does not rise when a site's newest event goes.",
    edits: [
      {
        file: OLD,
        find: "AND ${homeSites.eventSeqFloor} < (SELECT",
        replace: "AND ${homeSites.eventSeqFloor} > (SELECT",
      },
    ],
  },
  {
    name: "retention-keeps-messages",
    what: "The messages of a session that goes stay.",
    edits: [
      {
        file: OLD,
        find: "DELETE FROM ${messages} WHERE ${mayGo(v)} AND ${ofSessions(v, messages)}",
        replace:
          "UPDATE ${messages} SET session_id = ${v.lastChatId} + 1 WHERE ${mayGo(v)} AND ${ofSessions(v, messages)}",
      },
    ],
  },
  {
    name: "retention-keeps-the-newest-event",
    what: "The newest event of a session that goes stays.",
    edits: [
      {
        file: OLD,
        find: "DELETE FROM ${events} WHERE ${mayGo(v)} AND ${inItsEvents(v)}",
        replace: "DELETE FROM ${events} WHERE ${mayGo(v)} AND ${inItsEvents(v)} AND ${events.seq} < ${v.newestSeq}",
      },
    ],
  },
  {
    name: "retention-keeps-deliveries",
    what: "Deliveries that have ended stay without their event.",
    edits: [
      {
        file: OLD,
        find: "DELETE FROM ${deliveries} WHERE ${mayGo(v)} AND ${inItsDeliveries(v)}",
        replace:
          "DELETE FROM ${deliveries} WHERE ${mayGo(v)} AND ${deliveries.status} = 'pending' AND ${inItsDeliveries(v)}",
      },
    ],
  },
  {
    name: "retention-by-anybody",
    what: "An operator who is no owner changes how long sessions are kept.",
    edits: [
      {
        file: SITES,
        find: 'if (retentionDays !== undefined) requireRole(ctx, "owner");',
        replace: "void requireRole;",
      },
    ],
  },
  {
    name: "retention-lost-by-settling",
    what: "A restored home keeps its sessions for as long as before the restore.",
    edits: [
      {
        file: "src/store/copy-sites.ts",
        find: "retentionDays: newer(homeSites.revision, homeSites.retentionDays),",
        replace: "retentionDays: sql`${homeSites.retentionDays}`,",
      },
    ],
  },
  {
    name: "retention-not-copied",
    what: "The directory does not learn how long a site keeps its sessions.",
    edits: [
      { file: SITES, find: "retentionDays: now.retentionDays };", replace: "retentionDays: site.retentionDays };" },
    ],
  },
  {
    name: "end-of-an-open-site",
    what: "A site ends that is open.",
    edits: [
      {
        file: ENDS,
        find: 'eq(homeSites.name, name), eq(homeSites.status, "closed"));',
        replace: "eq(homeSites.name, name));",
      },
    ],
  },
  {
    name: "end-by-another-name",
    what: "A site ends although it has another name.",
    edits: [
      {
        file: ENDS,
        find: 'eq(homeSites.name, name), eq(homeSites.status, "closed"));',
        replace: 'eq(homeSites.status, "closed"));',
      },
    ],
  },
  {
    name: "end-leaves-the-apps",
    what: "The apps of a site that ends stay until the cron job comes.",
    edits: [
      {
        file: ENDS,
        find: "store.delete(apps).where(and(eq(apps.siteId, siteId), ends)),",
        replace: "store.delete(apps).where(and(eq(apps.siteId, -siteId), ends)),",
      },
    ],
  },
  {
    name: "end-leaves-the-webhooks",
    what: "The webhooks of a site that ends stay until the cron job comes.",
    edits: [
      {
        file: ENDS,
        find: "store.delete(webhooks).where(and(eq(webhooks.siteId, siteId), ends)),",
        replace: "store.delete(webhooks).where(and(eq(webhooks.siteId, -siteId), ends)),",
      },
    ],
  },
  {
    name: "end-without-receipt-in-kv",
    what: "KV does not learn that a site ends.",
    edits: [
      {
        file: SERVICE,
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
        file: SERVICE,
        find: "  await keepDeletion(runtime, config.directory, deletion, now, answerBy);\n  await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);\n",
        replace:
          "  await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);\n  await keepDeletion(runtime, config.directory, deletion, now, answerBy);\n",
      },
    ],
  },
  {
    name: "end-not-marked-in-the-directory",
    what: "The directory keeps the end of a site and goes on serving its apps.",
    edits: [
      {
        file: DIRECTORY,
        find: 'store.update(sites).set({ status: "deleting" }).where(isServed),',
        replace: "store.update(sites).set({ home }).where(isServed),",
      },
    ],
  },
  {
    name: "end-takes-a-neighbours-rows",
    what: "Rows of other sites go that have the same key.",
    edits: [
      {
        file: DELETED,
        find: ".where(and(eq(table.siteId, siteId), sql`(${columns}) IN ${some}`))",
        replace: ".where(sql`(${columns}) IN ${some}`)",
      },
    ],
  },
  {
    name: "end-leaves-what-was-written-late",
    what: "The row of a site goes while the home still has rows of the site.",
    edits: [{ file: ENDS, find: "exists(ends), ...isEmpty)),", replace: "exists(ends), ...isEmpty.slice(99)))," }],
  },
  {
    name: "end-of-another-home",
    what: "The directory takes the ends of other homes' sites for its own, and notes that nothing is left of them.",
    edits: [
      {
        file: DELETED,
        find: ".where(and(eq(siteDeletions.home, home), isNull(",
        replace: ".where(and(isNull(",
      },
    ],
  },
  {
    name: "end-forgets-the-tokens",
    what: "Tokens of a site that has ended stay.",
    edits: [
      {
        file: DIRECTORY,
        find: "    deleteTokens(directory, isIt, now),\n",
        replace: "",
      },
    ],
  },
  {
    name: "end-forgets-the-erasures",
    what: "The receipts of erasures of a site that has ended stay in the directory.",
    edits: [
      {
        file: DIRECTORY,
        find: "and(eq(erasureReceipts.home, home), inArray(erasureReceipts.siteId, ended))",
        replace: "and(eq(erasureReceipts.home, home), eq(erasureReceipts.siteId, -1))",
      },
    ],
  },
  {
    name: "settling-ends-no-site",
    what: "A restored home keeps the sites that have ended.",
    edits: [
      {
        file: AGAIN,
        find: "await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);\n      again++;",
        replace: "void [stopSite, authorOf];",
      },
    ],
  },
  {
    name: "settling-does-not-ask-kv",
    what: "A restored directory does not learn from KV which of its sites have ended.",
    edits: [
      {
        file: AGAIN,
        find: "...believed, ...(await selectDeletionsOf(",
        replace: "...believed.slice(believed.length), ...(await selectDeletionsOf(",
      },
    ],
  },
  {
    name: "settling-does-not-ask-the-homes",
    what: "A restored directory does not learn which sites of other homes have ended.",
    edits: [
      {
        file: "src/services/homes.ts",
        find: "    await keepDeletionsOf(ctx, name, other);\n",
        replace: "    void keepDeletionsOf;\n",
      },
    ],
  },
  {
    name: "site-export-skips-a-session",
    what: "The next part of a site's export begins one row too late.",
    edits: [
      {
        file: "src/services/export-site.ts",
        find: "String(found[left - 1]?.id ?? key)",
        replace: "String(found[left]?.id ?? key)",
      },
    ],
  },
  {
    name: "site-export-names-the-ticket",
    what: "A line of an export has the kind of its session in place of what it is.",
    edits: [
      {
        file: "src/http/admin/sites.ts",
        find: "JSON.stringify({ kind, ...value })",
        replace: "JSON.stringify({ kind: (value as { session_kind?: unknown }).session_kind ?? kind, ...value })",
      },
    ],
  },
];
