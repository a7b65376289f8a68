import { type Defect, oneEditDefect } from "../planted-defect.ts";

const ERASE_CUSTOMER = "src/operators/services/erase-customer.ts";
const ERASE_STEP = "src/operators/store/home/erase-step.ts";
const ERASE_AGAIN = "src/operators/services/erase-again.ts";
const OLD_SESSIONS = "src/operators/store/home/old-sessions.ts";
const SITE_DELETIONS = "src/operators/store/home/site-deletions.ts";
const DELETE_SITE = "src/operators/services/delete-site.ts";

const ERASING: Defect[] = [
  oneEditDefect(
    "erase-without-receipt-in-kv",
    "The receipt of an erasure is not written into KV.",
    "src/operators/store/kv-erasures.ts",
    "await kv?.put(keyOf(receipt), JSON.stringify(receipt.chatIds)",
    "await kv?.put(keyOf(receipt), JSON.stringify([])",
  ),
  {
    name: "erase-before-the-receipt",
    what: "An erasure deletes before the directory has its receipt.",
    edits: [
      {
        file: ERASE_CUSTOMER,
        find: "erasure.listedTo < erasure.until && parts",
        replace: "erasure.listedTo < 0 && parts",
      },
      {
        file: ERASE_CUSTOMER,
        find: "|| erasure.listedTo < erasure.until || mustWait",
        replace: "|| mustWait",
      },
      {
        file: ERASE_CUSTOMER,
        find: "  await nameAgain(",
        replace: "  if (0 > 1) await nameAgain(",
      },
      {
        file: ERASE_STEP,
        find: "AND ${erasures.listedTo} >= ${erasures.until}`,",
        replace: "`,",
      },
    ],
  },
  oneEditDefect(
    "erased-delivery-keeps-its-lease",
    "Erasing sets the deliveries of a person's events to skipped, but leaves the lease with an attempt that is in flight.",
    ERASE_STEP,
    "THEN 'skipped' ELSE status END, next_attempt_at = NULL, claim = NULL",
    "THEN 'skipped' ELSE status END, next_attempt_at = NULL",
  ),
  oneEditDefect(
    "erase-takes-newer-sessions",
    "An erasure takes sessions that were opened after it began.",
    ERASE_STEP,
    "const sessionChoice = { siteId, externalId, after: 0, until, limit: SESSIONS_PER_STEP };",
    "const sessionChoice = { siteId, externalId, after: 0, until: until + 99, limit: SESSIONS_PER_STEP };",
  ),
  oneEditDefect(
    "erasure-ends-below-its-new-end",
    "A step of an erasure does not check whether the erasure has got a new highest id since it was read.",
    ERASE_STEP,
    "AND ${erasures.until} = ${v.until} AND ${erasures.listedTo} >= ${erasures.until}`,",
    "AND ${erasures.listedTo} >= ${erasures.until}`,",
  ),
  {
    name: "erase-keeps-the-id",
    what: "The row of an erasure still names the customer after the erasure has ended.",
    edits: [
      {
        file: ERASE_STEP,
        find: "done_at = ${v.now}, external_id = NULL",
        replace: "done_at = ${v.now}",
      },
      {
        file: "src/operators/store/home/erasures.ts",
        find: "=> erasure.externalId !== null;",
        replace: "=> erasure.doneAt === null;",
      },
    ],
  },
  oneEditDefect(
    "settling-erases-nobody",
    "Settling a restored home does not repeat the erasures.",
    ERASE_AGAIN,
    "if (first !== undefined && !doneErasures.has(nameOf(first))) due.push",
    "if (first !== undefined && doneErasures.has(nameOf(first))) due.push",
  ),
  oneEditDefect(
    "first-part-says-where-the-erasure-ended",
    "Erasing again after a restore takes the highest id from the first part of the receipt, not from the part with the highest one.",
    ERASE_AGAIN,
    "const until = Math.max(...parts.flatMap((part) => (part.hash === hash ? (part.until ?? []) : [])));",
    "const until = trustedParts[0]?.until ?? 0;",
  ),
  oneEditDefect(
    "erase-misses-an-event-in-between",
    "The event of a call that came between the search for events and the step keeps its data.",
    "src/operators/store/home/chosen-sessions.ts",
    "UNION SELECT seq FROM ${events} WHERE ${events.siteId} = ${v.siteId} AND ${events.seq} > ${v.newestSeq}",
    "UNION SELECT seq FROM ${events} WHERE ${events.siteId} = 0 AND ${events.seq} > ${v.newestSeq}",
  ),
  {
    name: "erase-counts-twice",
    what: "A second try of a step of an erasure counts its sessions and writes its event again.",
    edits: [
      {
        file: ERASE_STEP,
        find: "AND ${erasures.step} = ${v.step} AND ${erasures.doneAt} IS NULL",
        replace: "AND ${erasures.step} >= ${v.step} AND ${erasures.doneAt} IS NULL",
      },
      {
        file: ERASE_STEP,
        find: "${erasures.step} = ${v.step} + 1 AND ${erasures.madeBy} = ${v.madeBy})`",
        replace: "${erasures.madeBy} = ${v.madeBy})`",
      },
    ],
  },
  oneEditDefect(
    "erase-gives-ids-again",
    "The floor does not rise when a site's newest session is erased.",
    ERASE_STEP,
    "raiseFloor(v, isMine(v))",
    "raiseFloor(v, sql`false`)",
  ),
];

const AGEING: Defect[] = [
  oneEditDefect(
    "longer-retention-comes-too-late",
    "A batch of the cron job checks only that the site has a retention, not that the retention is unchanged.",
    OLD_SESSIONS,
    "AND (${homeSites.retentionDays} = ${v.retentionDays}",
    "AND (${homeSites.retentionDays} IS NOT NULL",
  ),
  oneEditDefect(
    "retention-gives-seqs-again",
    "The floor of seqs does not rise when a site's newest event is deleted.",
    OLD_SESSIONS,
    "AND ${homeSites.eventSeqFloor} < (SELECT",
    "AND ${homeSites.eventSeqFloor} > (SELECT",
  ),
  oneEditDefect(
    "retention-forgets-who-is-next",
    "The cron job does not find the sites whose oldest session is too old.",
    "src/operators/store/pruning/prune-sessions.ts",
    "${keptUntil} <= ${run.now}",
    "${keptUntil} <= ${run.now} - 9e9",
  ),
  oneEditDefect(
    "end-of-an-open-site",
    "An open site can be deleted.",
    SITE_DELETIONS,
    'eq(homeSites.name, name), eq(homeSites.status, "closed"));',
    "eq(homeSites.name, name));",
  ),
  oneEditDefect(
    "cron-ends-a-site-that-nobody-kept",
    "The cron job continues a site's deletion of which the directory does not know yet.",
    "src/operators/store/pruning/prune-deleted-sites.ts",
    'if (site?.home !== deletion.home || site.status !== "deleting") return false;',
    "if (site?.home !== deletion.home) return false;",
  ),
  oneEditDefect(
    "end-without-receipt-in-kv",
    "The receipt of a site's end is not put into KV.",
    DELETE_SITE,
    "await fromKv(ctx)(() => writeSiteDeletion(config.credentials, home, { ...deletion, hash }));",
    "void [hash, fromKv, writeSiteDeletion];",
  ),
  oneEditDefect(
    "end-before-the-directory-knows",
    "The end of a site deletes apps and webhooks before the directory knows of it.",
    DELETE_SITE,
    "  await keepDeletion(runtime, config.directory, deletion, now, answerBy);\n  await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);\n",
    "  await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);\n  await keepDeletion(runtime, config.directory, deletion, now, answerBy);\n",
  ),
  oneEditDefect(
    "settling-ends-no-site",
    "A restored home keeps the sites that have been deleted.",
    "src/operators/services/delete-again.ts",
    "await stopSite(runtime, db, deletion, authorOf(ctx), answerBy);\n      deletedAgain++;",
    "void [stopSite, authorOf];",
  ),
  oneEditDefect(
    "retention-keeps-customers",
    "A customer without sessions stays as long as the site has any session.",
    OLD_SESSIONS,
    "AND ${sessions.customerExternalId} = ${customers.externalId})`",
    ")`",
  ),
];

export const ERASURE_DEFECTS: Defect[] = [...ERASING, ...AGEING];
