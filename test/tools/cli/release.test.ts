import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { main } from "../../../src/tools/cli/release.ts";
import { runCli } from "../../support/run-cli.ts";
import { runMain } from "../../support/run-main.ts";

const ROOT = join(import.meta.dirname, "../../..");
const folder = mkdtempSync(join(tmpdir(), "release-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

const UNRELEASED = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 1.2.2 (2026-11-01)\n\n- Old.\n";

const gitIn =
  (root: string) =>
  (...args: string[]) =>
    execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

/** A committed checkout of version 1.2.3 that has the files which a release changes, and none of the programs that it runs. */
function checkout(files: Record<string, string> = {}) {
  const root = mkdtempSync(join(folder, "checkout-"));
  const git = gitIn(root);
  git("init", "--quiet", "--initial-branch", "main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.com");
  const own = `{ "name": "agent-session", "version": "1.2.3" }\n`;
  const all = {
    "package.json": own,
    "package-lock.json": own,
    "CHANGELOG.md": UNRELEASED,
    ".gitignore": "release/\n",
    ...files,
  };
  for (const [path, text] of Object.entries(all)) writeFileSync(join(root, path), text);
  git("add", "--all");
  git("commit", "--quiet", "--message", "Begin");
  return { root, git, run: (...args: string[]) => runMain(main, args, { root }) };
}

describe("what a release refuses", () => {
  it("npm run release as a program refuses a text that is no version", async () => {
    const { exitCode, stderr } = await runCli("release", ["1.2"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('"1.2" is no version. It is like 1.2.3.')]);
  });

  it.each([
    ["no version", [], 2, '"" is no version. It is like 1.2.3.'],
    ["a version of two numbers", ["1.3"], 2, '"1.3" is no version'],
    ["a version with a v", ["v1.3.0"], 2, '"v1.3.0" is no version'],
    ["two versions", ["1.3.0", "1.4.0"], 2, "Left over: 1.4.0"],
    ["the present version", ["1.2.3"], 1, "1.2.3 is not higher than 1.2.3"],
    ["a lower version", ["1.1.9"], 1, "1.1.9 is not higher than 1.2.3"],
  ])("npm run release refuses %s, and changes nothing", async (_, args, exitCode, words) => {
    const { git, run } = checkout();
    expect(await run(...args)).toMatchObject({ exitCode, stderr: expect.stringContaining(words) });
    expect([git("status", "--porcelain"), git("tag"), git("log", "--format=%s")]).toEqual(["", "", "Begin"]);
  });

  it("npm run release refuses a tag that is there, another branch, and changes that are not committed", async () => {
    const { root, git, run } = checkout();
    writeFileSync(join(root, "new.txt"), "");
    expect((await run("1.3.0")).stderr).toContain("Commit or remove these changes first:\n?? new.txt");
    rmSync(join(root, "new.txt"));
    git("switch", "--quiet", "--create", "other");
    expect((await run("1.3.0")).stderr).toContain("This checkout is on other. A release is made on main.");
    git("switch", "--quiet", "main");
    git("tag", "v1.3.0");
    expect((await run("1.3.0")).stderr).toContain("v1.3.0 is there already: git show v1.3.0");
  });

  it("npm run release refuses a changelog with nothing under Unreleased", async () => {
    for (const text of ["# Changelog\n", "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-11-01)\n\n- Old.\n"]) {
      const { git, run } = checkout({ "CHANGELOG.md": text });
      expect((await run("1.3.0")).stderr).toContain('nothing under "## Unreleased"');
      expect(git("status", "--porcelain")).toBe("");
    }
  });

  it("a release whose step fails leaves the checkout as it was", async () => {
    const { root, git, run } = checkout();
    const { exitCode, stderr } = await run("1.3.0");
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("src/tools/cli/build-docs.ts failed:")]);
    expect([git("status", "--porcelain"), git("tag"), git("log", "--format=%s")]).toEqual(["", "", "Begin"]);
    expect([readFileSync(join(root, "CHANGELOG.md"), "utf8"), existsSync(join(root, "release"))]).toEqual([
      UNRELEASED,
      false,
    ]);
  });
});

it("npm run release makes the commit, the tag with the notes, the Worker of this version and the client's tarball, and pushes nothing", async () => {
  const root = join(folder, "whole");
  const git = gitIn(root);
  execFileSync("git", ["clone", "--quiet", ROOT, root]);
  // What is not committed yet is tried too.
  for (const path of gitIn(ROOT)("ls-files", "--modified", "--others", "--exclude-standard")
    .split("\n")
    .filter(Boolean)) {
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(root, path));
  }
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  writeFileSync(join(root, "CHANGELOG.md"), UNRELEASED);
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.com");
  git("switch", "--quiet", "--force-create", "main");
  git("add", "--all");
  git("commit", "--quiet", "--message", "Begin");

  const { exitCode, stdout, stderr } = await runMain(main, ["98.7.6"], { root });
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("git push origin main v98.7.6\n");

  const day = /^## 98\.7\.6 \((\d{4}-\d\d-\d\d)\)$/m.exec(readFileSync(join(root, "CHANGELOG.md"), "utf8"))?.[1];
  const notes = `# 98.7.6 (${day})\n\n### Added\n\n- A thing.`;
  expect(readFileSync(join(root, "release/notes.md"), "utf8")).toBe(`${notes}\n`);
  expect(git("tag", "--list", "--format=%(contents)", "v98.7.6").trim()).toBe(notes);
  expect(readdirSync(join(root, "release")).sort()).toEqual(["agent-session-client-98.7.6.tgz", "notes.md"]);
  expect([git("status", "--porcelain"), git("log", "-2", "--format=%s")]).toEqual(["", "Release 98.7.6\nBegin"]);
  expect(git("show", "--name-only", "--format=", "HEAD").split("\n")).toEqual([
    "CHANGELOG.md",
    "package-lock.json",
    "package.json",
    "test/last-release/settings.json",
    "test/last-release/worker.js",
  ]);
  expect(readFileSync(join(root, "test/last-release/worker.js"), "utf8")).toContain('"98.7.6"');
  expect(readFileSync(join(root, "package-lock.json"), "utf8").match(/"98\.7\.6"/g)).toHaveLength(2);
});
