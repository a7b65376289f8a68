/**
 * `node crashable-worker.ts <folder>` runs `worker.js` with `settings.json` on the state in the folder, until its process is
 * killed. It prints the line `{"url": …}` when it serves. Each line of standard input is a cron to run, which it answers with
 * `{"ran": …}`. It ends when standard input ends. The Worker's log lines go to `log` in the folder.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";

const folder = process.argv[2] ?? "";
const state = join(folder, "state");
const isNew = !existsSync(state);
const { compatibilityDate, compatibilityFlags, bindings, queueSeconds } = JSON.parse(
  readFileSync(join(folder, "settings.json"), "utf8"),
);

const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    modules: [{ type: "ESModule", path: "worker.js", contents: readFileSync(join(folder, "worker.js"), "utf8") }],
    modulesRoot: ".",
    compatibilityDate,
    compatibilityFlags,
    bindings,
    d1Databases: { DB: "agent-session", HOME_APAC: "agent-session-apac" },
    queueProducers: { EVENTS: "agent-session-events" },
    queueConsumers: { "agent-session-events": { maxBatchSize: 100, maxBatchTimeout: queueSeconds } },
    kvNamespaces: { NONCES: "nonces", CREDENTIALS: "credentials" },
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    cf: false,
    resourcePersistencePath: state,
    handleStructuredLogs: ({ message }) => appendFileSync(join(folder, "log"), `${message}\n`),
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
for await (const cron of createInterface({ input: process.stdin })) {
  const worker = (await miniflare.getWorker()) as unknown as {
    scheduled(options: { cron: string }): Promise<{ outcome: string }>;
  };
  const { outcome } = await worker.scheduled({ cron });
  console.log(JSON.stringify({ ran: outcome }));
}
process.exit();
