import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Database } from "../../platform/database.ts";

const FOLDER = join(import.meta.dirname, "../../../../migrations");

/** The text of each migration, in their order. */
export const readMigrations = (): string[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => readFileSync(join(FOLDER, name), "utf8"));

/**
 * The tables that the checker watches, in an order in which each row comes after the rows that it refers to. The tables
 * of usage and metrics, which change with each call, have their own tests instead.
 */
export const WATCHED = [
  "sites",
  "admin_tokens",
  "people",
  "app_routes",
  "home_sites",
  "apps",
  "agents",
  "customers",
  "sessions",
  "participants",
  "messages",
  "nonces",
  "idempotency_keys",
  "events",
  "webhooks",
  "deliveries",
  "audit_log",
  "settlings",
  "site_deletions",
  "refusals",
];

/** The database of a home, with all migrations applied. */
export function newDatabase(): Database {
  const database = new Database();
  for (const migration of readMigrations()) database.execute(migration);
  database.watch(WATCHED);
  return database;
}
