import { readdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Io } from "./io.ts";

/** A D1 binding, as wrangler reads it. */
export interface Database {
  binding: string;
  database_name?: string;
  database_id?: string;
  migrations_dir?: string;
  migrations_table?: string;
}

/** The copy of a database: Cloudflare's, or the one on this machine. */
type DatabaseFlag = "--remote" | "--local";

/**
 * The result of migrating one database.
 * - `ahead`: it has all migrations of this version and more, because a later version migrated it. Nothing was applied.
 * - `diverged`: it has migrations that this version lacks, and lacks some that this version has. Nothing was applied.
 */
type Migration =
  | { result: "up-to-date" }
  | { result: "migrated" }
  | { result: "ahead" | "diverged"; foreign: string[] }
  | { result: "failed"; output: string };

/**
 * Applies the migrations that a database lacks.
 *
 * @param file   wrangler's configuration. The path of the migrations is relative to its folder
 * @param shared options that choose the environment, and the account or the folder of the local state
 */
export async function migrate(
  { binding, migrations_dir = "migrations", migrations_table = "d1_migrations" }: Database,
  { file, where, shared }: { file: string; where: DatabaseFlag; shared: readonly string[] },
  io: Io,
): Promise<Migration> {
  const ownMigrations = readdirSync(resolve(dirname(file), migrations_dir)).filter((name) => name.endsWith(".sql"));
  const select = `SELECT name FROM ${migrations_table} ORDER BY id`;
  const result = await io.wrangler(["d1", "execute", binding, where, "--json", "--command", select, ...shared]);
  const isNew = result.exitCode !== 0 && result.output.includes(`no such table: ${migrations_table}`);
  if (result.exitCode !== 0 && !isNew) return { result: "failed", output: result.output };
  const appliedMigrations = isNew ? [] : namesIn(result.stdout);
  const foreign = appliedMigrations.filter((name) => !ownMigrations.includes(name));
  const complete = ownMigrations.every((name) => appliedMigrations.includes(name));
  if (complete) return foreign.length === 0 ? { result: "up-to-date" } : { result: "ahead", foreign };
  if (foreign.length > 0) return { result: "diverged", foreign };
  const { exitCode, output } = await io.wrangler(["d1", "migrations", "apply", binding, where, ...shared]);
  return exitCode === 0 ? { result: "migrated" } : { result: "failed", output };
}

function namesIn(json: string): string[] {
  const [answer] = JSON.parse(json) as { results: { name: string }[] }[];
  return (answer?.results ?? []).map(({ name }) => name);
}
