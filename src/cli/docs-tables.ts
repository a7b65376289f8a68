import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, readText } from "./layered-styles.ts";
import { madePages } from "./made-pages.ts";

interface Io {
  read: (path: string) => string;
  write: (path: string, text: string) => void;
  tell: (line: string) => void;
}

/**
 * `npm run tables` writes into the pages what comes from the code and from the bench. With `--check` it writes nothing, and names the pages
 * that are out of date.
 *
 * @returns the exit code
 * @throws Error before anything is written, when a page cannot be made
 */
export function docsTables(args: string[], { read, write, tell }: Io): number {
  const stale = Object.entries(madePages(read)).filter(([path, page]) => page !== read(path));
  const isCheck = args.includes("--check");
  for (const [path, page] of stale) {
    if (isCheck) tell(`${path} is not what the code and the bench say: run npm run tables`);
    else write(path, page);
  }
  return isCheck && stale.length > 0 ? 1 : 0;
}

if (import.meta.main) {
  const write = (path: string, text: string) => writeFileSync(join(ROOT, path), text);
  process.exitCode = docsTables(process.argv.slice(2), { read: readText, write, tell: console.error });
}
