import type { Step } from "./step.ts";

/** The event `app.revoked`, by the steps in CONTRIBUTING.md. It only tries the recipe, in a copy of the tree. */
export const EVENT: Step[] = [
  {
    file: "src/core/store/event-schema.ts",
    red: "types",
    find: /(OWN_EVENT_TYPES = \[[^\]]*)\]/,
    replace: '$1, "app.revoked"]',
  },
  {
    file: "src/tools/openapi/event-webhooks.ts",
    red: "types",
    find: /\n {2}\[PING\]: \{/,
    replace: `
  "app.revoked": {
    summary: "An operator revoked an app",
    description: "Its calls are refused from now on.",
    properties: { appid: string("The app.", { examples: [APPID] }) },
    example: { appid: APPID },
  },$&`,
  },
  {
    file: "src/tools/docs/zh.json",
    red: "docs",
    find: /^\{\n/,
    replace: `{
  "An operator revoked an app": "运维方吊销了一个应用",
  "Its calls are refused from now on.": "此后它的调用一律被拒绝。",
  "The app.": "应用。",
`,
  },
  {
    file: "src/client/event.ts",
    red: "types",
    find: /\n\/\*\*[^\n]*\*\/\nexport type Ping /,
    replace: `
/** An operator revoked an app. */
export type AppRevoked = EventOf<"app.revoked", { appid: string }>;
$&`,
  },
  { file: "src/client/event.ts", red: "types", find: /\n {2}\| Ping\n/, replace: "\n  | AppRevoked$&" },
  {
    file: "src/operators/store/home/apps.ts",
    red: "types",
    find: /\n\/\*\*\n \* Revokes an app for good\./,
    replace: `
type Revoked = { siteId: number; appid: string; eventId: string; now: number };

const revokedEvent = eventPart<Revoked>("app.revoked", ({ appid }) => ({ appid }));
$&`,
  },
  {
    file: "src/operators/store/home/apps.ts",
    red: "types",
    find: /\nimport \{ type Author, auditOf/,
    replace: '\nimport { eventPart } from "../../../events/store/webhook-events.ts";$&',
  },
  {
    file: "src/operators/store/home/apps.ts",
    red: "types",
    find: /( {2}author: Author,\n\): Promise<)AppRow \| undefined>( \{\n {2}const store = drizzle\(db\);\n)/,
    replace: `  eventId: string,\n$1{ app: AppRow | undefined; recipients: string[] }>$2  const event = { ...key, eventId, now: author.now };
`,
  },
  {
    file: "src/operators/store/home/apps.ts",
    red: "types",
    find: /(and\(isApp\(key\), CHANGED\)\),\n)(.*?)const \{ now \} = await (.*?)\n {2}return now\[0\];/s,
    replace: `$1      ...revokedEvent(db, event),
$2const { now, recipients } = await $3
  return { app: now[0], recipients: recipients.map(({ webhook }) => webhook) };`,
  },
  {
    file: "src/operators/services/apps.ts",
    red: "types",
    find: /const app = await updateRevoked\((runtime), (.*?\)), (\{.*?\}), (.*)\);\n(.*)\n(.*)\n/,
    replace: `const { app, recipients } = await updateRevoked(
    $1,
    $2,
    $3,
    newEventId(runtime),
    $4,
  );
$5
$6
  for (const webhook of recipients) notifyQueueOf(ctx, { id: siteId, home }, webhook);
`,
  },
  {
    file: "src/operators/services/apps.ts",
    red: "types",
    find: /\n {2}homeOf,/,
    replace: "$&\n  notifyQueueOf,",
  },
  {
    file: "src/operators/services/apps.ts",
    red: "types",
    find: /\nimport \{ selectRoute \}/,
    replace: '\nimport { newEventId } from "../../core/signed/event-id.ts";$&',
  },
  {
    file: "test/tools/openapi/events.test.ts",
    red: "types",
    find: /(\nconst CAUSES: .*\n)/,
    replace: `$1  "app.revoked": (world) => call(world, "DELETE", \`/admin/apps/\${world.appid}\`),
`,
  },
  {
    file: "test/simulation/operators/rules/writes.ts",
    red: "simulation",
    find: /(\n {2}revoke: \{)(.*?\n {4}case "revoke":\n)/s,
    replace:
      '$1 events: ["+"], deliveries: ["+"],$2      if (table === "events" || table === "deliveries") return undefined;\n',
  },
];
