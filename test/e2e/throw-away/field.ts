import { type Step, texts } from "./step.ts";

const OPERATION = "src/core/operations/create-session.ts";

/** The field `throwaway` of create_gd, by the steps of CONTRIBUTING.md in their order. */
export const FIELD: Step[] = [
  {
    file: "src/core/store/schema.ts",
    red: "types",
    find: /(export const sessions = sqliteTable\(\n {2}"sessions",\n {2}\{\n.*?)(\n {2}\},\n)/s,
    replace: '$1\n    throwaway: text("throwaway"),$2',
  },
  {
    file: "src/core/store/schema.ts",
    red: "types",
    find: /(const SESSION_NAMES = \{\n.*?)(\n\} as const)/s,
    replace: '$1\n  throwaway: "throwaway",$2',
  },
  {
    file: OPERATION,
    red: "types",
    find: /(\n {4}\}\)\n {4}\.check\()/,
    replace:
      '\n      throwaway: z.optional(z.string(rule("throwaway")).check(z.regex(/^[a-z]{2}(-[A-Z]{2})?$/, broken("throwaway")))),$1',
  },
  {
    file: OPERATION,
    red: "types",
    find: /(\n {2}\}\),\n\n {2}bind\()/,
    replace: "\n    ...(fields.throwaway !== undefined && { throwaway: fields.throwaway }),$1",
  },
  {
    file: OPERATION,
    red: "types",
    find: /(\n {6}messageSender,)/,
    replace: "\n      throwaway: input.throwaway ?? null,$1",
  },
  {
    file: OPERATION,
    red: "simulation",
    find: /(\n {8}kind: sql`'ticket'`,)/,
    replace: "$1\n        throwaway: v.throwaway,",
  },
  {
    file: OPERATION,
    red: "test/core/operations/lists",
    find: /(\n {4}metadata: METADATA_WORDS,)/,
    replace:
      '$1\n    throwaway: { description: "A language. An extension of this service; the contract does not have it.", examples: ["zh-CN"] },',
  },
  {
    file: OPERATION,
    red: "test/tools/openapi/limits",
    find: /(\n {2}probes: \(\) => \(\{\n)/,
    replace: `$1    throwaway: {
      inside: ["zh", "zh-CN"],
      outside: ["", "z", "zho", "ZH", "zh-", "zh-cn", "zh-CN ", "zh_CN", 1, null, []],
    },
`,
  },
  {
    file: OPERATION,
    red: "test/core/operations/lists",
    find: /(\n {4}from_customer: \{)/,
    replace: `
    throwaway: {
      summary: "With a language",
      fields: { sbs: "customer_001", kefu_id: [10411], fzr_uid: 10411, ip: "127.0.0.1", sbs_mc: "Customer Name", content: "Hi", throwaway: "zh-CN" },
      fingerprint: "54df6e51ca52372fee914d031b63b50ec046b3ae954749c7a904a535b88e3dbd",
    },$1`,
  },
  {
    file: OPERATION,
    red: "test/tools/openapi/events",
    find: /(\n {6}customer: \{ sbs: "customer_001")/,
    replace: '\n      throwaway: "zh-CN",$1',
  },
  {
    file: "src/core/rules.ts",
    red: "types",
    find: /\n {2}ip_address: \{/,
    replace: '\n  throwaway: { detail: "must be like zh or zh-CN", words: "must be like zh or zh-CN." },$&',
  },
  {
    file: "src/core/operations/describe-session.ts",
    red: "types",
    find: /(\n {2}customer: \{)/,
    replace:
      '\n  throwaway: { type: ["string", "null"], description: "The language; null without one.", examples: ["zh-CN"] },$1',
  },
  {
    file: "src/client/event.ts",
    red: "test/docs-receiving",
    find: /(\n {4}created_at: number;)/,
    replace: "$1\n    throwaway: string | null;",
  },
  {
    file: "src/client/arguments.ts",
    red: "types",
    find: /(export interface NewSession \{\n.*?)(\n\})/s,
    replace: "$1\n  throwaway?: string | undefined;$2",
  },
  {
    file: "src/client/arguments.ts",
    red: "test/core/operations/lists",
    find: /(\n {4}sbs: id,.*?)(\n {2}\};)/s,
    replace: "$1\n    throwaway: session.throwaway,$2",
  },
  texts("src/tools/docs/zh.json", "docs", {
    "A language. An extension of this service; the contract does not have it.":
      "语言。这是本服务的扩展，接口约定中没有。",
    "With a language": "带语言",
    "The language; null without one.": "语言；没有时为 null。",
  }),
  texts("src/assets/console/zh.json", "test/operators/console/language", {
    "must be like zh or zh-CN.": "须形如 zh 或 zh-CN。",
  }),
  {
    file: "test/simulation/operations/create-session.ts",
    red: "simulation",
    find: /\n {2}title: \{\n/,
    replace: '\n  throwaway: { columns: ["throwaway"], right: ["zh"] },$&',
  },
  {
    file: "test/core/operations/create-session.test.ts",
    red: "test/core/operations/create-session",
    find: /(\n +)metadata: null,/,
    replace: "$&$1throwaway: null,",
  },
];
