import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

const homes = [env.DB, env.HOME_APAC];
const databases = [...homes, env.UNMIGRATED];

// Test files share a worker and its storage, and each file must begin with empty storage. `reset` skips storage that has been idle
// for ten seconds, so each storage is used once before.
await Promise.all([
  ...databases.map((db) => db.prepare("SELECT 1").run()),
  ...[env.NONCES, env.CREDENTIALS].map((kv) => kv.get("any")),
]);
await reset();
for (const db of databases) {
  const oldTable = await db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'sites'").first();
  if (oldTable !== null) throw new Error("the storage of the test file before is still there");
}
// One batch takes half the time of wrangler, which also stores a list of applied migrations.
const queries = env.MIGRATIONS.flatMap((migration) => migration.queries);
await Promise.all(homes.map((db) => db.batch(queries.map((query) => db.prepare(query)))));
