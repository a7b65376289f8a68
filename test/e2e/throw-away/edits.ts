/** An edit of a file. `find` must match exactly once. */
export type Edit = [file: string, find: RegExp, replace: string];

/**
 * The field `throwaway` of create_gd, by the steps in CONTRIBUTING.md, in their order; a command makes the migration. The field
 * only tries the recipe, in a copy of the tree.
 */
export const FIELD: Edit[] = [
  [
    "src/core/store/schema.ts",
    /(export const sessions = sqliteTable\(\n {2}"sessions",\n {2}\{\n.*?)(\n {2}\},\n)/s,
    '$1\n    throwaway: text("throwaway"),$2',
  ],
  ["src/core/store/schema.ts", /(const SESSION_NAMES = \{\n.*?)(\n\} as const)/s, '$1\n  throwaway: "throwaway",$2'],

  [
    "src/core/operations/create-session.ts",
    /(\n {4}\}\)\n {4}\.check\()/,
    '\n      throwaway: z.optional(z.string(rule("throwaway")).check(z.regex(/^[a-z]{2}(-[A-Z]{2})?$/, broken("throwaway")))),$1',
  ],
  [
    "src/core/rules.ts",
    /\n {2}ip_address: \{/,
    '\n  throwaway: { detail: "must be like zh or zh-CN", words: "must be like zh or zh-CN." },$&',
  ],
  ["src/tools/docs/details.ts", /\n {6}create\(\{ ip: "localhost" \}\),/, '\n      create({ throwaway: "x" }),$&'],
  [
    "src/core/operations/create-session.ts",
    /(\n {2}\}\),\n\n {2}bind\()/,
    "\n    ...(fields.throwaway !== undefined && { throwaway: fields.throwaway }),$1",
  ],
  ["src/core/operations/create-session.ts", /(\n {6}messageSender,)/, "\n      throwaway: input.throwaway ?? null,$1"],
  ["src/core/operations/create-session.ts", /(\n {8}kind: sql`'ticket'`,)/, "$1\n        throwaway: v.throwaway,"],
  [
    "src/core/operations/create-session.ts",
    /(\n {2}\},\n {2}probes: \(\) => \(\{\n)/,
    `
    throwaway: { description: "A language.", examples: ["zh-CN"] },$1    throwaway: {
      inside: ["zh", "zh-CN"],
      outside: ["", "z", "zho", "ZH", "zh-", "zh-cn", "zh-CN ", "zh_CN", 1, null, []],
    },
`,
  ],
  ["src/core/operations/create-session.ts", /(\n {6}customer: \{)/, '\n      throwaway: "zh-CN",$1'],
  [
    "src/core/operations/describe-session.ts",
    /(\n {2}customer: \{)/,
    '\n  throwaway: { type: ["string", "null"], description: "The language; null without one.", examples: ["zh-CN"] },$1',
  ],

  ["src/client/event.ts", /(\n {4}created_at: number;)/, "$1\n    throwaway: string | null;"],
  [
    "src/operators/console/sessions/session-facts.tsx",
    /(\n {4}\[t\("Kind"\))/,
    '\n    [t("Throwaway"), session.throwaway ?? "–"],$1',
  ],
  [
    "src/assets/console/zh.json",
    /^\{\n/,
    '{\n  "Throwaway": "试用项",\n  "must be like zh or zh-CN.": "须形如 zh 或 zh-CN。",\n',
  ],
  [
    "src/client/arguments.ts",
    /(export interface NewSession \{\n.*?)(\n\})/s,
    "$1\n  throwaway?: string | undefined;$2",
  ],
  ["src/client/arguments.ts", /(\n {4}sbs: id,.*?)(\n {2}\};)/s, "$1\n    throwaway: session.throwaway,$2"],

  ["test/core/operations/create-session.test.ts", /(\n +)metadata: null,/, "$&$1throwaway: null,"],
  ["test/operators/admin/admin-lists.test.ts", /(\n +)metadata: \{\},/, "$&$1throwaway: null,"],

  [
    "test/simulation/operations/create-session.ts",
    /\n {2}title: \{\n/,
    '\n  throwaway: { columns: ["throwaway"], right: ["zh"] },$&',
  ],

  [
    "src/tools/docs/zh.json",
    /^\{\n/,
    `{
  "A language.": "语言。",
  "The language; null without one.": "语言；没有时为 null。",
`,
  ],
  ["docs/receiving.md", /`metadata`, `created_at`/, "$&, `throwaway`"],
  ["docs/zh/receiving.md", /`metadata`、`created_at`/, "$&、`throwaway`"],
];

/** The operation `throw_away_gd`, by the steps in CONTRIBUTING.md. Its file stands beside this one. */
export const OPERATION: Edit[] = [
  [
    "src/core/operations/index.ts",
    /\n(import type .*)/,
    '\nimport throwAwaySession, { documentation as throwAwaySessionDocumentation } from "./throw-away-session.ts";\n$1',
  ],
  ["src/core/operations/index.ts", /(OPERATIONS: .*)\]/, "$1, throwAwaySession]"],
  [
    "src/core/operations/index.ts",
    /\n\];\n$/,
    "\n  { operation: throwAwaySession, documentation: throwAwaySessionDocumentation },$&",
  ],
  ["src/client/operations.ts", /(OPERATION_NAMES = .*)\]/, '$1, "throw_away_gd"]'],
  ["src/core/store/schema.ts", /(SESSION_STATUSES = \[[^\]]*)\]/, '$1, "binned"]'],
  [
    "src/core/operations/add-agents.ts",
    /(\n {4}not_a_ticket: \{\n)/,
    `
    session_binned: {
      when: (v) => sql\`EXISTS (SELECT 1 FROM \${sessions} WHERE \${session(v)} AND \${sessions.status} = 'binned')\`,
      code: "state_forbids",
      violation: () => ({ field: "chat_id", rule: "not_binned" }),
      past: "The session was thrown away.",
    },$1`,
  ],
  [
    "src/core/rules.ts",
    /\n {2}ticket: \{/,
    '\n  not_binned: { detail: "the session was thrown away", words: "is a session that was thrown away." },$&',
  ],
  [
    "src/tools/docs/details.ts",
    /\n {6}\{ field: "chat_id", rule: "ticket" \},/,
    '\n      { field: "chat_id", rule: "not_binned" },$&',
  ],
  [
    "src/core/operations/add-agents.ts",
    /\n {4}not_a_ticket: NOT_OPENED_HERE,/,
    '$&\n    session_binned: { cause: "The session was thrown away.", cure: "Nothing to repeat." },',
  ],
  [
    "test/simulation/operations/add-agents.ts",
    /(\n {4}not_a_ticket: \{\n)/,
    `
    session_binned: {
      ...FORBIDS,
      ask: askFor("session_binned"),
    },$1`,
  ],
  [
    "test/simulation/operations/add-agents.ts",
    /(\n {4}if \(session\.row\.kind !== "ticket"\))/,
    '\n    if (session.row.status === "binned") return "session_binned";$1',
  ],
  [
    "src/tools/docs/zh.json",
    /^\{\n/,
    `{
  "Throw a session away": "丢弃会话",
  "Throws a session of this app's site away.": "丢弃本应用站点的一个会话。",
  "One session": "一个会话",
  "A session was thrown away": "会话已丢弃",
  "Names the session.": "指出是哪个会话。",
  "Its status from now on.": "此后的状态。",
  "The session was thrown away before.": "会话此前已丢弃。",
  "The session was thrown away.": "会话已丢弃。",
  "Nothing to repeat.": "不必再发。",
`,
  ],
  [
    "src/assets/console/zh.json",
    /^\{\n/,
    `{
  "Binned": "已丢弃",
  "is a session that was thrown away.": "会话已丢弃。",
  "The session was thrown away before.": "会话此前已丢弃。",
  "The session was thrown away.": "会话已丢弃。",
`,
  ],
];
