import type { Defect } from "../defect.ts";

const ERASE_CUSTOMER = "src/services/erase-customer.ts";
const ERASE_STEP = "src/store/home/erase-step.ts";
const ERASE_AGAIN = "src/services/erase-again.ts";

/** Defects of erasing customers. */
export const ERASURE_DEFECTS: Defect[] = [
  {
    name: "erase-without-receipt-in-kv",
    what: "The receipt of an erasure is not written into KV.",
    edits: [
      {
        file: "src/store/kv-erasures.ts",
        find: "await kv?.put(keyOf(receipt), JSON.stringify(receipt.chatIds)",
        replace: "await kv?.put(keyOf(receipt), JSON.stringify([])",
      },
    ],
  },
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
  {
    name: "erased-delivery-keeps-its-lease",
    what: "Erasing sets the deliveries of a person's events to skipped, but leaves the lease with an attempt that is in flight.",
    edits: [
      {
        file: ERASE_STEP,
        find: "THEN 'skipped' ELSE status END, next_attempt_at = NULL, claim = NULL",
        replace: "THEN 'skipped' ELSE status END, next_attempt_at = NULL",
      },
    ],
  },
  {
    name: "erase-takes-newer-sessions",
    what: "An erasure takes sessions that were opened after it began.",
    edits: [
      {
        file: ERASE_STEP,
        find: "const chosen = { siteId, externalId, after: 0, until, limit: SESSIONS_PER_STEP };",
        replace: "const chosen = { siteId, externalId, after: 0, until: until + 99, limit: SESSIONS_PER_STEP };",
      },
    ],
  },
  {
    name: "erasure-ends-below-its-new-end",
    what: "A step of an erasure does not look whether the erasure's highest id is still the one that it was read with.",
    edits: [
      {
        file: ERASE_STEP,
        find: "AND ${erasures.until} = ${v.until} AND ${erasures.listedTo} >= ${erasures.until}`,",
        replace: "AND ${erasures.listedTo} >= ${erasures.until}`,",
      },
    ],
  },
  {
    name: "erase-keeps-the-id",
    what: "The row of an erasure names the customer after its end.",
    edits: [
      {
        file: ERASE_STEP,
        find: "done_at = ${v.now}, external_id = NULL",
        replace: "done_at = ${v.now}",
      },
      {
        file: "src/store/home/erasures.ts",
        find: "=> erasure.externalId !== null;",
        replace: "=> erasure.doneAt === null;",
      },
    ],
  },
  {
    name: "settling-erases-nobody",
    what: "Settling a restored home does not erase again.",
    edits: [
      {
        file: ERASE_AGAIN,
        find: "if (first !== undefined && !done.has(nameOf(first))) due.push",
        replace: "if (first !== undefined && done.has(nameOf(first))) due.push",
      },
    ],
  },
  {
    name: "first-part-says-where-the-erasure-ended",
    what: "Erasing again after a restore takes the highest id from the first part of the receipt, not from the part with the highest one.",
    edits: [
      {
        file: ERASE_AGAIN,
        find: "const until = Math.max(...parts.flatMap((part) => (part.hash === hash ? (part.until ?? []) : [])));",
        replace: "const until = believed[0]?.until ?? 0;",
      },
    ],
  },
];
