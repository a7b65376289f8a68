import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

// Files share a worker and so its storage: each begins with an empty one.
await reset();
await Promise.all([env.DB, env.HOME_APAC].map((db) => applyD1Migrations(db, env.MIGRATIONS)));
