/**
 * A process of its own that runs a built Worker on state in a folder until it is killed: `node crashable-worker.ts <folder>`, with
 * `worker.js` and `settings.json` in it. Says `{"url": …}` in one line once it serves, and goes when its standard input ends.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";

const folder = process.argv[2] ?? "";
const state = join(folder, "state");
const isNew = !existsSync(state);
const { compatibilityDate, bindings } = JSON.parse(readFileSync(join(folder, "settings.json"), "utf8"));

const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    modules: [{ type: "ESModule", path: "worker.js", contents: readFileSync(join(folder, "worker.js"), "utf8") }],
    modulesRoot: ".",
    compatibilityDate,
    bindings,
    d1Databases: { DB: "agent-session", HOME_APAC: "agent-session-apac" },
    kvNamespaces: { NONCES: "nonces", CREDENTIALS: "credentials" },
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    cf: false,
    resourcePersistencePath: state,
    handleStructuredLogs: () => {},
  }),
);
await miniflare.ready;

for (const home of isNew ? ["DB", "HOME_APAC"] : []) {
  const db = await miniflare.getD1Database(home);
  const migrations = join(import.meta.dirname, "../../migrations");
  for (const file of readdirSync(migrations).sort()) {
    if (!file.endsWith(".sql")) continue;
    const statements = readFileSync(join(migrations, file), "utf8").split("--> statement-breakpoint");
    await db.batch(statements.filter((text) => text.trim() !== "").map((text) => db.prepare(text)));
  }
}

console.log(JSON.stringify({ url: (await miniflare.unsafeGetDirectURL()).origin }));
process.stdin.on("end", () => process.exit()).resume();
