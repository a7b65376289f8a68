import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

// Test files share a worker and so its storage, and each file must begin with an empty one.
await reset();
await Promise.all([env.DB, env.HOME_APAC].map((db) => applyD1Migrations(db, env.MIGRATIONS)));
