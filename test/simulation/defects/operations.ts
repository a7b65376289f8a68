import type { Defect } from "./defect.ts";

const CREATE = "src/operations/create-session.ts";
const ADD = "src/operations/add-agents.ts";
const TITLE = "src/operations/auto-title.ts";

/** Defects of one operation: its fields, refusals, writes and answers. */
export const OPERATION_DEFECTS: Defect[] = [
  {
    name: "title-always-empty",
    what: "The automatic title is empty.",
    edits: [{ file: TITLE, find: "if (line.length <= MOST_GRAPHEMES) return line;", replace: 'return "";' }],
  },
  {
    name: "title-is-the-whole-message",
    what: "The automatic title is the whole message.",
    edits: [
      {
        file: TITLE,
        find: "return first.segment;",
        replace: "return text;",
      },
    ],
  },
  {
    name: "title-cut-one-letter-late",
    what: "The automatic title has one letter too many.",
    edits: [{ file: TITLE, find: "const MOST_GRAPHEMES = 40;", replace: "const MOST_GRAPHEMES = 41;" }],
  },
  {
    name: "title-cut-inside-letters",
    what: "The automatic title is cut inside an emoji.",
    edits: [
      {
        file: TITLE,
        find: 'let kept = "";',
        replace: 'if (line.length > MOST_GRAPHEMES) return `${line.slice(0, 39)}…`;\n  let kept = "";',
      },
    ],
  },
  {
    name: "fingerprint-of-names",
    what: "Values inside an object of the request do not count for its Idempotency-Key.",
    edits: [
      {
        file: "src/signed/fingerprint.ts",
        find: "JSON.stringify(input)",
        replace:
          'JSON.stringify(Object.entries(input as object).map(([name, value]) => [name, Array.isArray(value) || typeof value !== "object" ? value : Object.keys(value)]))',
      },
    ],
  },
  {
    name: "sbs-as-a-number",
    what: "A numeric sbs beyond 2^53 is rounded, so it names another customer.",
    edits: [
      {
        file: "src/parse-json.ts",
        find: "if (WRITTEN_INTEGER.test(digits)) object[digitsOf] = digits;",
        replace: "if (WRITTEN_INTEGER.test(digits)) object[digitsOf] = String(object[digitsOf]);",
      },
    ],
  },
  {
    name: "chats-take-agents",
    what: "Agents are added to a session that is not a ticket.",
    edits: [{ file: ADD, find: "AND ${sessions.kind} <> 'ticket')`", replace: "AND ${sessions.kind} = 'none')`" }],
  },
  {
    name: "nobody-adds-agents",
    what: "Agents are added to a session without a responsible agent.",
    edits: [
      {
        file: ADD,
        find: "${session(v)} AND ${sessions.responsibleAgentId} IS NULL)`",
        replace: "${session(v)} AND ${sessions.responsibleAgentId} = -1)`",
      },
      {
        file: ADD,
        find: "sql`${agents.id} <> ${sessions.responsibleAgentId}\n",
        replace: "sql`${agents.id} IS NOT ${sessions.responsibleAgentId}\n",
      },
      {
        file: ADD,
        find: "addedBy: sessions.responsibleAgentId,",
        replace: "addedBy: sql`coalesce(${sessions.responsibleAgentId}, 0)`,",
      },
    ],
  },
  {
    name: "refusals-in-another-order",
    what: "add_kf to a session without a responsible agent answers that there is nobody to add.",
    edits: [
      {
        file: ADD,
        find: 'detail: () => "chat_id: the session has no responsible agent"',
        replace: 'detail: () => "chat_id: is not a ticket session"',
      },
    ],
  },
  {
    name: "system-text-replies",
    what: "A first message of the system makes the session count as replied.",
    edits: [
      {
        file: CREATE,
        find: 'system: { status: "waiting", messageSender: "agent" }',
        replace: 'system: { status: "replied", messageSender: "agent" }',
      },
    ],
  },
  {
    name: "title-for-the-visitor-only",
    what: "The given title does not become the agents' remark.",
    edits: [{ file: CREATE, find: "agentTitle: v.title,", replace: "agentTitle: sql`NULL`," }],
  },
];
