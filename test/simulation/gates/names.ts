import { ATTACKS } from "../callers/acts/attacker.ts";
import { CALLER_ACTS } from "../callers/acts/caller.ts";
import { CHANGES } from "../callers/acts/changed-sessions.ts";
import { FORGERIES, FORGERS_ACTS } from "../callers/acts/forgeries.ts";
import { MEANWHILE } from "../callers/acts/lost-commits.ts";
import { OTHER_HEADERS } from "../callers/acts/replays.ts";
import { TAMPERINGS } from "../callers/acts/tampering.ts";
import { WHILE_IN_FLIGHT } from "../deliveries/acts/in-flight.ts";
import { MOODS } from "../deliveries/acts/moods.ts";
import { SENT_AGAIN } from "../deliveries/acts/operator-webhooks.ts";
import { MISSES } from "../deliveries/acts/post.ts";
import { WEBHOOK_ACTS } from "../deliveries/acts/webhook-day.ts";
import { CUSTOMER_ACTS } from "../erasure/acts/customer-keeper.ts";
import { SITE_ACTS } from "../erasure/acts/site-keeper.ts";
import { ACTS as DEPLOYMENTS } from "../homes/acts/deployments.ts";
import { DAY_BEFORE } from "../homes/acts/drill-troubles.ts";
import { CROSSINGS } from "../operators/acts/crossings.ts";
import { ACTS } from "../operators/acts/operator-acts.ts";
import { OUTAGES } from "../weather/outages.ts";
import { ROLES } from "../world/call.ts";
import { DATABASE_FAULTS } from "../world/cloud/database-link.ts";
import { KV_FAULTS } from "../world/cloud/kv-link.ts";
import { LIMIT_FAULTS } from "../world/cloud/limit-link.ts";
import { QUEUE_FAULTS } from "../world/cloud/queue-link.ts";
import { type Node, readSources, type SourceFile, wordsOf } from "./source.ts";

const CACHED = ["NONCES get", "NONCES put", "CREDENTIALS get", "CREDENTIALS put"];
/** The moods in which a receiver gets posts. A receiver that refuses gets none. */
const POSTED_MOODS = Object.keys(MOODS).filter((mood) => mood !== "refuses");

/** All values of each computed name that the world counts, by the expression in the source. */
export const PUT_TOGETHER: Record<string, readonly string[]> = {
  act: Object.keys(DEPLOYMENTS),
  "OUTAGES[state]": Object.values(OUTAGES),
  "`session changed by hand: ${name}`": CHANGES.map(({ name }) => `session changed by hand: ${name}`),
  "`caller: ${act}`": Object.keys(CALLER_ACTS).map((act) => `caller: ${act}`),
  "`moment: second try after ${what}`": Object.keys(MEANWHILE).map((what) => `moment: second try after ${what}`),
  "`customer: ${act}`": Object.keys(CUSTOMER_ACTS).map((act) => `customer: ${act}`),
  "`operator: ${act}`": [ACTS, WEBHOOK_ACTS].flatMap(Object.keys).map((act) => `operator: ${act}`),
  "`moment: in flight, ${name}`": Object.keys(WHILE_IN_FLIGHT).map((name) => `moment: in flight, ${name}`),
  "`moment: late at ${kind}`": Object.keys(CROSSINGS).map((kind) => `moment: late at ${kind}`),
  "`sent again: ${what}`": Object.keys(SENT_AGAIN).map((what) => `sent again: ${what}`),
  "`before a restore: ${act}`": Object.keys(DAY_BEFORE).map((act) => `before a restore: ${act}`),
  "`attack: ${kind}`": Object.keys(ATTACKS).map((kind) => `attack: ${kind}`),
  "`forger: ${act}`": Object.keys(FORGERS_ACTS).map((act) => `forger: ${act}`),
  "`forgery: ${forgery}`": Object.keys(FORGERIES).map((forgery) => `forgery: ${forgery}`),
  "`site keeper: ${act}`": Object.keys(SITE_ACTS).map((act) => `site keeper: ${act}`),
  "`twist: ${name}`": Object.keys(OTHER_HEADERS).map((name) => `twist: ${name}`),
  "`KV record tampered: ${kind}`": TAMPERINGS.map((kind) => `KV record tampered: ${kind}`),
  "`D1: ${what}`": DATABASE_FAULTS.map((what) => `D1: ${what}`),
  "`KV ${name} ${method}: ${what}`": CACHED.flatMap((call) =>
    KV_FAULTS.filter((what) => what !== "lost" || call.endsWith("put")).map((what) => `KV ${call}: ${what}`),
  ),
  "`webhook enabled that was ${disabled_reason}`": ["gone", "failing"].map((why) => `webhook enabled that was ${why}`),
  "`queue: ${what}`": QUEUE_FAULTS.map((what) => `queue: ${what}`),
  "`limit: ${fault}`": LIMIT_FAULTS.map((fault) => `limit: ${fault}`),
  "`receiver turns ${server.mood}`": ["well", ...Object.keys(MOODS)].map((mood) => `receiver turns ${mood}`),
  "`receiver: ${post.mood}`": ["well", "planned", ...POSTED_MOODS].map((mood) => `receiver: ${mood}`),
  "`post: ${post.miss}`": MISSES.map((why) => `post: ${why}`),
  "`${call.role} cut off`": ROLES.map((role) => `${role} cut off`),
  // The gate requires results of operations and moods instead of statuses.
  "`${call.role} ${call.answer?.status}`": [],
  "`post ${post.status}`": [],
  // A link only passes these names on. The counts of operations have a gate of their own.
  kind: [],
  what: [],
};

/** The names that the world's files count: literal names, and the expressions of computed names. */
export function countedIn(sources: readonly SourceFile[]): { names: string[]; putTogether: string[] } {
  const names = new Set<string>();
  const putTogether = new Set<string>();
  for (const source of sources) {
    const addName = (node: Node | undefined) => {
      const words = wordsOf(node);
      if (words !== undefined) names.add(words);
      else if (node?.type === "ConditionalExpression") [node.consequent, node.alternate].forEach(addName);
      else if (node !== undefined && node.name !== "undefined")
        putTogether.add(source.text.slice(node.start, node.end));
    };
    for (const { type, callee, arguments: args } of source.nodes) {
      if (type !== "CallExpression" || callee.type !== "MemberExpression") continue;
      if (callee.property.name === "count") addName(args[0]);
      if (callee.property.name === "note") addName(args[2]);
    }
  }
  return { names: [...names], putTogether: [...putTogether] };
}

export const readWorld = (): SourceFile[] => readSources().filter(({ file }) => !file.includes("/rules/"));

/** All names of the world. Each is counted when it happens. */
export function worldNames(): string[] {
  const { names } = countedIn(readWorld());
  return [...new Set([...names, ...Object.values(PUT_TOGETHER).flat()])].sort();
}
