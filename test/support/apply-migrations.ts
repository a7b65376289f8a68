import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

const homes = [env.DB, env.HOME_APAC];
const databases = [...homes, env.UNMIGRATED];

// Test files share a worker and so its storage, and each file must begin with an empty one.
// `reset` passes over storage that workerd has put to sleep after ten idle seconds, so all of it is woken before.
await Promise.all([
  ...databases.map((db) => db.prepare("SELECT 1").run()),
  ...[env.NONCES, env.CREDENTIALS].map((kv) => kv.get("any")),
]);
await reset();
for (const db of databases) {
  const left = await db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'sites'").first();
  if (left !== null) throw new Error("the storage of the test file before is still there");
}
// One batch takes half the time of wrangler's way, which keeps a list of what it has applied.
const queries = env.MIGRATIONS.flatMap((migration) => migration.queries);
await Promise.all(homes.map((db) => db.batch(queries.map((query) => db.prepare(query)))));
