import type { Defect } from "./defect.ts";

const JOURNAL = "src/journal/journal.ts";
const NOTED = "src/http/signed/journal-refusals.ts";
const WRITTEN = "src/journal/write-journal.ts";
const REFUSALS = "src/store/home/refusals.ts";
const SEND = "c.executionCtx.waitUntil(isolate.journal.send(queue))";

/** Defects of the journal of refused calls, of the ids of calls, and of how both are read. */
export const JOURNAL_DEFECTS: Defect[] = [
  {
    name: "left-out-not-counted",
    what: "A row does not count the calls that were left out before it.",
    edits: [{ file: JOURNAL, find: "refusal.skipped + (before === undefined ? 0 : before.skipped + 1)", replace: "0" }],
  },
  {
    name: "left-out-counted-twice",
    what: "A row counts itself among the calls that were left out.",
    edits: [
      { file: JOURNAL, find: "(before === undefined ? 0 : before.skipped + 1)", replace: "(before?.skipped ?? 0) + 1" },
    ],
  },
  {
    name: "journal-in-main",
    what: "Every refused call goes to the journal of the home main.",
    edits: [
      {
        file: NOTED,
        find: "isolate.journal.note(app, {",
        replace: 'isolate.journal.note(app && { ...app, home: "main" }, {',
      },
    ],
  },
  {
    name: "message-twice-counts-twice",
    what: "A message that comes twice adds to the calls that were left out.",
    edits: [
      {
        file: REFUSALS,
        find: "WHERE ${isOfThisHome(sql`row.value`)}`",
        replace:
          "WHERE ${isOfThisHome(sql`row.value`)} ON CONFLICT DO UPDATE SET skipped = skipped + excluded.skipped`",
      },
    ],
  },
  {
    name: "refused-send-drops-rows",
    what: "Rows that the queue did not take are forgotten.",
    edits: [
      {
        file: JOURNAL,
        find: 'this.#telemetry.warn({ warning: "the queue took no refused calls"',
        replace:
          'this.#unsent.delete(home);\n        this.#telemetry.warn({ warning: "the queue took no refused calls"',
      },
    ],
  },
  {
    name: "closed-home-acknowledged",
    what: "Messages for a closed home are acknowledged.",
    edits: [
      {
        file: WRITTEN,
        find: "if (db === undefined) return later();",
        replace: "if (db === undefined) return { rows: 0 };",
      },
    ],
  },
  {
    name: "failed-home-acknowledged",
    what: "Messages for a home that fails are acknowledged.",
    edits: [{ file: WRITTEN, find: "return { ...later(), fault:", replace: "return { rows: 0, fault:" }],
  },
  {
    name: "forgeries-like-verified-calls",
    what: "Calls whose signature does not verify may leave as many rows as others.",
    edits: [
      {
        file: JOURNAL,
        find: 'const kind = refusal.secret === null ? "unverified" : "verified";',
        replace: 'const kind: Kind = "verified";',
      },
    ],
  },
  {
    name: "no-allowance",
    what: "Each refused call leaves a row.",
    edits: [{ file: JOURNAL, find: "      app.left--;\n", replace: "" }],
  },
  {
    name: "message-for-each-call",
    what: "A home gets a message of each refused call at once.",
    edits: [
      {
        file: JOURNAL,
        find: "      if (now - (this.#sentAt.get(home) ?? Number.NEGATIVE_INFINITY) < PAUSE_MS) continue;\n",
        replace: "",
      },
      { file: JOURNAL, find: "&& this.#watchedUntil <= this.#runtime.elapsed()", replace: "" },
    ],
  },
  {
    name: "batches-without-pause",
    what: "The journal of a home is written as often as messages come.",
    edits: [{ file: WRITTEN, find: "if (wait > 0) await sleep(runtime, Math.min(wait, PAUSE_MS));", replace: "" }],
  },
  {
    name: "detail-quotes-the-value",
    what: "The detail of a refusal quotes the value of a field.",
    edits: [
      {
        file: "src/operations/describe-fields.ts",
        find: "return `${name}: ${message}${slip}${cure}`;",
        replace: "return `${name}: ${message}${slip}${cure}: ${value}`;",
      },
    ],
  },
  {
    name: "row-quotes-the-key",
    what: "The row of a refused call has its Idempotency-Key in the detail.",
    edits: [
      {
        file: NOTED,
        find: "detail: detail?.slice(0, LONGEST_DETAIL) ?? null,",
        replace: 'detail: `${detail ?? ""} ${c.req.header("idempotency-key") ?? ""}`,',
      },
    ],
  },
  {
    name: "detail-cut-off-early",
    what: "The row of a refused call has the first ten characters of the detail.",
    edits: [{ file: NOTED, find: "const LONGEST_DETAIL = 500;", replace: "const LONGEST_DETAIL = 10;" }],
  },
  {
    name: "journal-not-registered",
    what: "The message of refused calls is sent without waitUntil.",
    edits: [{ file: NOTED, find: SEND, replace: "void isolate.journal.send(queue)" }],
  },
  {
    name: "answer-waits-for-the-journal",
    what: "A refused call is answered when the queue has taken its row.",
    edits: [{ file: NOTED, find: SEND, replace: "await isolate.journal.send(queue)" }],
  },
  {
    name: "callers-own-request-id",
    what: "A call has the x-request-id that its caller sends.",
    edits: [
      {
        file: "src/http/request-log.ts",
        find: "const requestId = newRequestId(isolate.runtime);",
        replace: 'const requestId = c.req.header("x-request-id") ?? newRequestId(isolate.runtime);',
      },
    ],
  },
  {
    name: "request-id-without-time",
    what: "A request id begins with the time to the second.",
    edits: [
      {
        file: "src/request-id.ts",
        find: "return written(now(), random",
        replace: "return written(Math.floor(now() / 1000) * 1000, random",
      },
    ],
  },
  {
    name: "nonce-of-nobody",
    what: "The owner of a nonce is a random id.",
    edits: [
      {
        file: "src/signed/decide.ts",
        find: "claimOf(runtime, caller, ready, trace.requestId, signed.now)",
        replace: "claimOf(runtime, caller, ready, runtime.uuid(), signed.now)",
      },
    ],
  },
  {
    name: "repeated-calls-in-the-journal",
    what: "A call whose answer is given again has a row.",
    edits: [
      { file: NOTED, find: "if (reason !== undefined) {", replace: "if (reason !== undefined || trace.repeated) {" },
      { file: NOTED, find: "        reason,\n", replace: '        reason: reason ?? "repeated",\n' },
    ],
  },
  {
    name: "forgeries-with-a-version",
    what: "A call whose signature was right before a rotation names the version that has ended.",
    edits: [
      {
        file: "src/signed/verify-caller.ts",
        find: "  delete trace.secretVersion;\n",
        replace: "",
      },
    ],
  },
  {
    name: "whole-address-in-the-journal",
    what: "The row of a refused call has the whole address of the client.",
    edits: [
      {
        file: NOTED,
        find: "client: clientNetwork(c.req.raw),",
        replace: 'client: c.req.header("cf-connecting-ip") ?? null,',
      },
    ],
  },
  {
    name: "networks-of-sixty-four-bits",
    what: "The network of an address of IPv6 is its first 64 bits.",
    edits: [
      {
        file: "src/http/client-address.ts",
        find: 'slice(0, 3).join(":")}::/48`',
        replace: 'slice(0, 4).join(":")}::/64`',
      },
    ],
  },
  {
    name: "journal-pruned-early",
    what: "The rows of refused calls are pruned a day early.",
    edits: [
      {
        file: "src/store/prune.ts",
        find: "const journalKeptUntil = now - journalDays * 86_400;",
        replace: "const journalKeptUntil = now - (journalDays - 1) * 86_400;",
      },
    ],
  },
  {
    name: "journal-kept-for-ever",
    what: "The rows of refused calls are never pruned.",
    edits: [{ file: "src/store/prune.ts", find: "  refusals: pruneRefusals,\n", replace: "" }],
  },
  {
    name: "journal-of-all-apps",
    what: "The list of refused calls ignores the appid.",
    edits: [
      {
        file: REFUSALS,
        find: "    appid === undefined ? undefined : eq(looked.appid, appid),\n",
        replace: "",
      },
    ],
  },
  {
    name: "journal-ends-at-its-most",
    what: "A list with a filter ends where it has looked at as many rows as it may.",
    edits: [
      {
        file: REFUSALS,
        find: "return { rows, next: end[0]?.requestId ?? null };",
        replace: "return { rows, next: null };",
      },
    ],
  },
  {
    name: "call-of-another-site",
    what: "A call is found on every site of its home.",
    edits: [
      {
        file: REFUSALS,
        find: "sql`${Number(mayHaveNonce)}`, eq(nonces.siteId, siteId), ",
        replace: "sql`${Number(mayHaveNonce)}`, ",
      },
    ],
  },
  {
    name: "silent-home-has-nothing",
    what: "A refused call is not found although a home does not answer.",
    edits: [
      {
        file: "src/services/journal.ts",
        find: "if (homesDown.length === 0) throw callUnknown();",
        replace: "throw callUnknown();",
      },
    ],
  },
  {
    name: "audit-without-the-call",
    what: "The audit log does not name the call that made a change.",
    edits: [
      {
        file: "src/store/audit.ts",
        find: "requestId: sql`${by.requestId}`.as",
        replace: "requestId: sql`NULL`.as",
      },
    ],
  },
];
