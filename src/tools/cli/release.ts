/** `npm run release`: makes a release in this checkout. It pushes nothing. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { command } from "./command.ts";
import type { Io } from "./io.ts";
import { readOptions, UsageError } from "./known-options.ts";

const USAGE = `npm run release -- VERSION

Makes the release VERSION (1.2.3) from a clean checkout of the branch main:

  package.json, package-lock.json   the version, which /healthz and each line of the log say
  CHANGELOG.md                      what stands under "Unreleased" gets the version and today's date
  test/last-release/                the Worker of this release, for the tests of the next one
  release/                          notes.md and the client's tarball; git ignores this folder
  git                               the commit "Release VERSION" and the annotated tag vVERSION

It pushes nothing: the last lines are the commands that do. When a step fails, the checkout is as it was.

  --help, -h   this`;

const OPTIONS = { help: { type: "boolean", short: "h" } } as const;

export const main = command(import.meta, release, "npm run release -- --help tells more.");

async function release(args: string[], io: Io): Promise<number> {
  const { values, positionals } = readOptions("npm run release -- …", args, OPTIONS, {
    allowPositionals: true,
    env: io.env,
  });
  if (values.help === true) {
    io.out(USAGE);
    return 0;
  }
  const [version = "", surplus] = positionals;
  if (surplus !== undefined) throw new UsageError(`One version, please. Left over: ${surplus}`);
  if (partsOf(version) === undefined) throw new UsageError(`"${version}" is no version. It is like 1.2.3.`);

  const git = (...words: string[]) => runIn(io.root, "git", words);
  const read = (file: string) => readFileSync(join(io.root, file), "utf8");
  const tag = `v${version}`;
  const day = new Date().toISOString().slice(0, 10);
  const present = (JSON.parse(read("package.json")) as { version: string }).version;
  if (git("tag", "--list", tag) !== "") throw new Error(`${tag} is there already: git show ${tag}`);
  const branch = git("branch", "--show-current");
  if (branch !== "main") throw new Error(`This checkout is on ${branch || "no branch"}. A release is made on main.`);
  const changes = git("status", "--porcelain");
  if (changes !== "") throw new Error(`Commit or remove these changes first:\n${changes}`);
  if (!isHigher(version, present)) throw new Error(`${version} is not higher than ${present}, the present version.`);
  const { page, notes } = datedChangelog(read("CHANGELOG.md"), version, day);

  const folder = join(io.root, "release");
  const made = () => rmSync(folder, { recursive: true, force: true });
  try {
    made();
    mkdirSync(folder);
    writeFileSync(join(folder, "notes.md"), notes);
    writeFileSync(join(io.root, "CHANGELOG.md"), page);
    for (const file of ["package.json", "package-lock.json"])
      writeFileSync(join(io.root, file), withVersion(read(file), present, version));
    io.out(runIn(io.root, process.execPath, ["src/tools/cli/build-docs.ts"]));
    io.out(runIn(io.root, process.execPath, ["test/support/keep-release.ts"]));
    io.out(runIn(io.root, process.execPath, ["src/tools/cli/build-client.ts", "release"]));
    git("add", "--all");
    git("commit", "--quiet", "--message", `Release ${version}`);
    // Without "whitespace" git would take the headings of the notes for comments.
    git("tag", "--annotate", "--cleanup=whitespace", "--file", join(folder, "notes.md"), tag);
  } catch (error) {
    // The checkout was clean, so nothing of anybody else is lost.
    if (git("log", "-1", "--format=%s") === `Release ${version}`) git("reset", "--quiet", "--soft", "HEAD~1");
    git("restore", "--staged", "--worktree", ".");
    made();
    throw error;
  }
  io.out(`
The release ${version} is made: the commit, the tag ${tag}, and release/. Publish it:

  git push origin main ${tag}
  gh release create ${tag} --notes-file release/notes.md release/*.tgz`);
  return 0;
}

/** @throws Error with all output, when the program fails */
function runIn(cwd: string, program: string, args: string[]): string {
  try {
    return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}${stderr}`);
  }
}

/** The numbers of a version. Undefined for any other text, also for a version such as 1.2.3-beta. */
function partsOf(version: string): number[] | undefined {
  return /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(version)?.slice(1).map(Number);
}

function isHigher(version: string, present: string): boolean {
  const [now = [], then = []] = [partsOf(version), partsOf(present)];
  const other = now.findIndex((part, i) => part !== then[i]);
  return other >= 0 && (now[other] ?? 0) > (then[other] ?? 0);
}

/** The file's own version stands before every other "version" in it, once in package.json and twice in package-lock.json. */
function withVersion(text: string, present: string, version: string): string {
  const own = new RegExp(`("name": "agent-session",\\s+"version": ")${present.replaceAll(".", "\\.")}"`, "g");
  return text.replaceAll(own, `$1${version}"`);
}

/**
 * The changelog in which "Unreleased" has become a release, and the notes of this release.
 *
 * @param day as 2026-12-01
 * @throws Error when nothing stands under "Unreleased"
 */
export function datedChangelog(text: string, version: string, day: string): { page: string; notes: string } {
  const [before = "", rest] = text.split(/^## Unreleased\n/m);
  const [notes = ""] = (rest ?? "").split(/^## /m);
  if (notes.trim() === "")
    throw new Error('CHANGELOG.md has nothing under "## Unreleased", so there is nothing to release.');
  return { page: `${before}## ${version} (${day})\n${rest}`, notes: `# ${version} (${day})\n${notes.trimEnd()}\n` };
}
