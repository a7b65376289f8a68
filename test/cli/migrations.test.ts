import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
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

describe("the migrations", () => {
  it("say all that the schema says: drizzle-kit has nothing to add", async () => {
    // drizzle-kit puts "./" before the folder it is given.
    const options = ["--dialect", "sqlite", "--schema", "src/store/schema.ts", "--out", relative(ROOT, copy)];
    const { stdout } = await run(process.execPath, [DRIZZLE_KIT, "generate", ...options], { cwd: ROOT });
    expect(stdout).toContain("No schema changes");
    expect(await filesBelow(copy)).toEqual(await filesBelow(join(ROOT, "migrations")));
  });

  it("are all in the journal, in order, and no others are there", async () => {
    const journal = JSON.parse(await readFile(join(copy, "meta/_journal.json"), "utf8")) as {
      entries: { idx: number; tag: string }[];
    };
    const files = (await readdir(copy)).filter((name) => name.endsWith(".sql")).sort();
    expect(journal.entries.map(({ tag }) => `${tag}.sql`)).toEqual(files);
    expect(journal.entries.map(({ idx }) => idx)).toEqual(files.map((_, i) => i));
  });

  it("keep the apps and nonces of a database from before versions were random ids", async () => {
    const db = new DatabaseSync(":memory:");
    const apply = async (name: string) => {
      const text = await readFile(join(copy, name), "utf8");
      for (const statement of text.split("--> statement-breakpoint")) db.exec(statement);
    };
    await apply("0000_init.sql");
    await apply("0001_audit_log.sql");
    db.exec(`INSERT INTO sites VALUES (1, 'Site', 0);
      INSERT INTO apps VALUES ('new', 1, 'N', 1, 's1', NULL, NULL, NULL, 5), ('rotated', 1, 'R', 2, 's2', 's1', 9, 7, 5);
      INSERT INTO nonces VALUES ('new', 'r', 'owner', 60, 'accepted', 3)`);
    await apply("0002_secret_versions_attempts_console.sql");
    const [fresh, rotated] = db.prepare("SELECT * FROM apps ORDER BY appid").all();
    const id = expect.stringMatching(/^[0-9a-f]{32}$/) as unknown;
    const kept = { site_id: 1, created_at: 5 };
    expect(fresh).toMatchObject({ ...kept, secret: "s1", version: id, previous_version: null, revoked_at: null });
    expect(rotated).toMatchObject({ ...kept, secret: "s2", version: id, previous_version: id, previous_secret: "s1" });
    expect(rotated).toMatchObject({ previous_expires_at: 9, revoked_at: 7 });
    expect(new Set([fresh?.version, rotated?.version, rotated?.previous_version]).size).toBe(3);
    expect(db.prepare("SELECT * FROM nonces").all()).toMatchObject([
      { owner: "owner", attempt: 1, expires_at: 1_860, session_id: 3 },
    ]);
  });
});
