import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { type ParserOptions, parse } from "@babel/parser";

/** How much text there is to read. */
export interface Weight {
  /** For code: its tokens without comments, where a text counts as its words and signs. For other files: words and signs. */
  tokens: number;
  /** All lines of the files, also comments and empty lines. */
  lines: number;
}

/**
 * The weight of each folder of src/ and test/, two levels deep. All other files that git has count as "elsewhere".
 *
 * @param root a checkout. Files that are not committed yet count too
 */
export function countWeight(root: string): Map<string, Weight> {
  const weights = new Map<string, Weight>();
  for (const file of countedFiles(root)) {
    const text = readFileSync(join(root, file), "utf8");
    const folder = folderOf(file);
    const { tokens, lines } = weights.get(folder) ?? { tokens: 0, lines: 0 };
    weights.set(folder, { tokens: tokens + tokensOf(file, text), lines: lines + linesOf(text) });
  }
  return new Map([...weights].sort(([a], [b]) => rankOfFolder(a) - rankOfFolder(b) || (a < b ? -1 : 1)));
}

/** Files that are not counted: pages, migrations, pictures, and files that a program made. */
const NOT_COUNTED =
  /^(?!src\/|test\/).*\.md$|^migrations\/|^test\/last-release\/|^package-lock\.json$|^docs\/numbers\.json$|^LICENSE$|\.png$/;

function countedFiles(root: string): string[] {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 ** 2 }).split("\0");
  const removed = new Set(git("ls-files", "-z", "--deleted"));
  return git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate").filter(
    (file) => file !== "" && !removed.has(file) && !NOT_COUNTED.test(file),
  );
}

/** The folder that a file counts for: "src/operators/console" for "src/operators/console/pages/a.tsx". */
function folderOf(file: string): string {
  const [top = "", ...more] = file.split("/").slice(0, -1);
  return top === "src" || top === "test" ? [top, ...more.slice(0, 2)].join("/") : "elsewhere";
}

const rankOfFolder = (folder: string) => ["src", "test", "elsewhere"].indexOf(folder.split("/")[0] ?? "");

const linesOf = (text: string) => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);

const wordsAndSigns = (text: string) => text.match(/\w+|[^\s\w]/g)?.length ?? 0;

const PLUGINS: Record<string, ParserOptions["plugins"]> = {
  ".ts": ["typescript"],
  ".tsx": ["typescript", "jsx"],
  ".js": [],
  ".mjs": [],
  ".json": [],
};

function tokensOf(file: string, text: string): number {
  const plugins = PLUGINS[extname(file)];
  if (plugins === undefined) return wordsAndSigns(text);
  const code = extname(file) === ".json" ? `(${text})` : text;
  const { tokens } = parse(code, { sourceType: "module", plugins, tokens: true });
  return (tokens ?? []).reduce((sum, token) => sum + tokenWeight(token), 0);
}

/** A text counts as its words. As one token, it would hide SQL, words of pages and sources in quotes. */
function tokenWeight({ type, value }: { type: string | { label: string }; value?: unknown }): number {
  if (typeof type === "string" || type.label === "eof") return 0; // Comments have a type that is a string.
  const text = type.label === "regexp" ? (value as { pattern: string }).pattern : String(value ?? "");
  return ["string", "template", "jsxText", "regexp"].includes(type.label) ? Math.max(1, wordsAndSigns(text)) : 1;
}
