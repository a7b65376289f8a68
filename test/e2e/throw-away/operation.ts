import { type Step, texts } from "./step.ts";

const LIST = "src/core/operations/index.ts";
const LISTED = "test/core/operations/lists";
const OTHER = "src/core/operations/add-agents.ts";
const MODEL_OF_OTHER = "test/simulation/operations/add-agents.ts";

const TEST = `import { expect, it } from "vitest";
import { World } from "../../support/world.ts";

it("throw_away_gd makes a session binned, and add_kf and a second throw_away_gd refuse it then", async () => {
  const world = await World.create();
  const chatId = await world.chatId();
  expect((await world.send("throw_away_gd", world.addBody(chatId))).status).toBe(200);
  expect((await world.stored()).sessions).toMatchObject([{ id: chatId, status: "binned" }]);
  expect((await world.add(chatId)).status).toBe(409);
  expect((await world.send("throw_away_gd", world.addBody(chatId))).status).toBe(409);
});
`;

/** The operation `throw_away_gd`, by the steps of CONTRIBUTING.md in their order. */
export const OPERATION: Step[] = [
  { file: "src/core/operations/throw-away-session.ts", red: "types", copied: true },
  {
    file: LIST,
    red: "types",
    find: /\n(import type .*Operation \} from)/,
    replace:
      '\nimport throwAwaySession, { documentation as throwAwaySessionDocumentation } from "./throw-away-session.ts";\n$1',
  },
  { file: LIST, red: LISTED, find: /(OPERATIONS: .*)\]/, replace: "$1, throwAwaySession]" },
  {
    file: LIST,
    red: LISTED,
    find: /\n\];\n$/,
    replace: "\n  { operation: throwAwaySession, documentation: throwAwaySessionDocumentation },$&",
  },
  {
    file: "src/client/operations.ts",
    red: LISTED,
    find: /(OPERATION_NAMES = .*)\]/,
    replace: '$1, "throw_away_gd"]',
  },
  {
    file: "src/core/rules.ts",
    red: "types",
    find: /\n {2}ticket: \{/,
    replace:
      '\n  not_binned: { detail: "the session was thrown away", words: "is a session that was thrown away." },$&',
  },
  texts("src/tools/docs/zh.json", "docs", {
    "Throw a session away": "丢弃会话",
    "Throws a session of this app's site away. An extension of this service; the contract does not have it.":
      "丢弃本应用站点的一个会话。这是本服务的扩展，接口约定中没有。",
    "The session, as `create_gd` answered it.": "会话，即 `create_gd` 返回的编号。",
    "One session": "一个会话",
    "A session was thrown away": "会话已丢弃",
    "Names the session.": "指出是哪个会话。",
    "Its status from now on.": "此后的状态。",
    "The session is thrown away already.": "会话此前已丢弃。",
    "Nothing to repeat.": "不必再发。",
  }),
  texts("src/assets/console/zh.json", "test/operators/console/language", {
    Binned: "已丢弃",
    "is a session that was thrown away.": "会话已丢弃。",
    "The session was thrown away before.": "会话此前已丢弃。",
  }),
  { file: "test/simulation/operations/throw-away-session.ts", red: "test/simulation/operations", copied: true },
  { file: "test/core/operations/throw-away-session.test.ts", red: LISTED, text: TEST },
  {
    file: "src/core/store/schema.ts",
    red: LISTED,
    find: /(SESSION_STATUSES = \[[^\]]*)\]/,
    replace: '$1, "binned"]',
  },
  {
    file: OTHER,
    red: "test/core/operations/throw-away-session",
    find: /(\n {4}not_a_ticket: \{\n)/,
    replace: `
    binned_before: {
      when: (v) => sql\`EXISTS (SELECT 1 FROM \${sessions} WHERE \${isSession(v)} AND \${sessions.status} = 'binned')\`,
      code: "state_forbids",
      violation: () => ({ field: "chat_id", rule: "not_binned" }),
      past: "The session was thrown away before.",
    },$1`,
  },
  {
    file: OTHER,
    red: LISTED,
    find: /\n {4}not_a_ticket: NOT_OPENED_HERE,/,
    replace: '$&\n    binned_before: { cause: "The session is thrown away already.", cure: "Nothing to repeat." },',
  },
  {
    file: OTHER,
    red: "types",
    find: /(\n {2}statuses: \{.*?) \},/,
    replace: '$1, binned: "binned_before" },',
  },
  {
    file: MODEL_OF_OTHER,
    red: "test/simulation/operations",
    find: /(\n {4}not_a_ticket: \{\n)/,
    replace: `
    binned_before: {
      ...FORBIDS,
      ask: askFor("binned_before"),
    },$1`,
  },
  {
    file: MODEL_OF_OTHER,
    red: "simulation",
    find: /(\n {4}if \(session\.row\.kind !== "ticket"\))/,
    replace: '\n    if (session.row.status === "binned") return "binned_before";$1',
  },
];
