import type { Defect } from "./defect.ts";

/** Work that is begun and not registered: its file, and how the call of waitUntil begins there. */
const FORGOTTEN = [
  ["nonce", "what puts a used ranstr into NONCES", "src/pipeline/run-request.ts", "waitUntil(rememberNonce"],
  [
    "app-count",
    "what counts a call for its app's limit",
    "src/pipeline/run-request.ts",
    "waitUntil(limits.count(config.appLimit, appid",
  ],
  [
    "site-count",
    "what counts a call for its site's limit",
    "src/pipeline/run-request.ts",
    "waitUntil(limits.count(config.siteLimit",
  ],
  [
    "closed-count",
    "what counts a call that met a closed site",
    "src/pipeline/run-request.ts",
    "waitUntil(limits.count(config.appLimit, closedKey",
  ],
  [
    "malformed-count",
    "what counts a malformed call",
    "src/pipeline/run-request.ts",
    "waitUntil(limits.count(config.appLimit, malformedKey",
  ],
  ["wake", "what tells the queue of an event", "src/pipeline/decide.ts", "lookUp.waitUntil(wake"],
  [
    "late-look-up",
    "the look-up in D1 that KV has outrun",
    "src/credentials/resolve-credentials.ts",
    "lookUp.waitUntil(fromD1",
  ],
  [
    "correction",
    "what puts a right record into KV",
    "src/credentials/resolve-credentials.ts",
    "waitUntil(this.#correctKv",
  ],
  ["publishing", "what tells KV of a change", "src/credentials/resolve-credentials.ts", "waitUntil(writeRecord"],
  [
    "settled-sites",
    "what copies the sites of a restored home",
    "src/services/settle-restored-home.ts",
    "ctx.waitUntil(copying",
  ],
  ["new-site", "what remembers a new site", "src/services/create-site.ts", "ctx.waitUntil(rememberSite"],
  [
    "operator-wake",
    "what tells the queue of a delivery by hand",
    "src/services/service-context.ts",
    "ctx.waitUntil(wake",
  ],
  ["deliveries", "what delivers", "src/webhooks/deliver.ts", "waitUntil(\n    Promise.all([told"],
] as const;

const forgotten: Defect[] = FORGOTTEN.map(([name, what, file, find]) => ({
  name: `forgotten-${name}`,
  what: `Nobody registers ${what}, so it ends with the answer.`,
  edits: [{ file, find, replace: find.replace(/^[\w.]*waitUntil/, "void ") }],
}));

/** Of what the platform demands: to say what goes on after the answer, and to be sparing with time and calls. */
export const PLATFORM_DEFECTS: Defect[] = [...forgotten];
