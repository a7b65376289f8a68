import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../../..");
const DRIZZLE_KIT = join(ROOT, "node_modules/drizzle-kit/bin.cjs");

let copy: string;

beforeEach(async () => {
  copy = await mkdtemp(join(tmpdir(), "migrations-"));
  await cp(join(ROOT, "migrations"), copy, { recursive: true });
});
afterEach(() => rm(copy, { recursive: true, force: true }));

async function filesBelow(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = paths.sort().map(async (path) => [path.slice(folder.length + 1), await readFile(path, "utf8")] as const);
  return Object.fromEntries(await Promise.all(read));
}

const migrationsIn = async (folder: string) => (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();

/** A new database with all migrations. @param fill functions that run before the migration whose name begins with their key */
async function migrate(fill: Record<string, (db: DatabaseSync) => void> = {}): Promise<DatabaseSync> {
  const db = new DatabaseSync(":memory:");
  for (const file of await migrationsIn(copy)) {
    fill[file.slice(0, 4)]?.(db);
    const text = await readFile(join(copy, file), "utf8");
    for (const statement of text.split("--> statement-breakpoint")) db.exec(statement);
  }
  return db;
}

describe("migrations", () => {
  it("the migrations make the whole schema, so that drizzle-kit has nothing to add", async () => {
    // The folder is relative, because drizzle-kit puts "./" before it.
    const options = [
      "--dialect",
      "sqlite",
      "--schema",
      "src/{core,operators}/store/*schema.ts",
      "--out",
      relative(ROOT, copy),
    ];
    const { stdout } = await run(process.execPath, [DRIZZLE_KIT, "generate", ...options], { cwd: ROOT });
    expect(stdout).toContain("No schema changes");
    expect(await filesBelow(copy)).toEqual(await filesBelow(join(ROOT, "migrations")));
  });

  it("the journal of drizzle-kit lists exactly the migrations, in order", async () => {
    const journal = JSON.parse(await readFile(join(copy, "meta/_journal.json"), "utf8")) as {
      entries: { idx: number; tag: string }[];
    };
    const files = await migrationsIn(copy);
    expect(journal.entries.map(({ tag }) => `${tag}.sql`)).toEqual(files);
    expect(journal.entries.map(({ idx }) => idx)).toEqual(files.map((_, i) => i));
  });

  it("the migrations run in order on a new database", async () => {
    const db = await migrate();
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(["app_routes", "home_sites", "sessions"]));
    expect(db.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
  });

  it("a migration deletes the receivers' words from webhooks, and keeps why each webhook failed", async () => {
    const db = await migrate({
      "0010": (db) => {
        db.exec(
          "INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at) VALUES (1, '', 'open', 0, 0, 1)",
        );
        const add = db.prepare(
          `INSERT INTO webhooks (site_id, id, url, events, status, version, secret, created_at, last_status, last_error)
           VALUES (1, ?, '', '[]', 'disabled', '', '', 1, ?, ?)`,
        );
        add.run("a", 410, "HTTP 410: Ada");
        add.run("b", null, "no answer in 15 s");
        add.run("c", null, "no connection");
        add.run("d", null, null);
      },
    });
    const webhooks = db.prepare("SELECT last_status, last_cause, last_error FROM webhooks ORDER BY id").all();
    expect(webhooks.map((row) => Object.values(row))).toEqual([
      [410, "status", null],
      [null, "no_answer", null],
      [null, "no_connection", null],
      [null, null, null],
    ]);
  });
});
