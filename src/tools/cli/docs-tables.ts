/** `npm run tables`: what the pages have from the code and from the bench, between their markers. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { command } from "./command.ts";
import type { Io } from "./io.ts";
import { readOptions } from "./known-options.ts";
import { madePages } from "./made-pages.ts";

const USAGE = `npm run tables -- [options]

Writes into the pages what comes from the code and from docs/numbers.json. Writes nothing when a page cannot be made.

  --check     writes nothing. Exit code 1: a page is out of date
  --help, -h  this`;

const OPTIONS = { check: { type: "boolean" }, help: { type: "boolean", short: "h" } } as const;

export const main = command(import.meta, makeTables, "npm run tables -- --help tells more.");

async function makeTables(args: string[], io: Io): Promise<number> {
  const { check = false, help } = readOptions("npm run tables -- …", args, OPTIONS, { env: io.env }).values;
  if (help === true) {
    io.out(USAGE);
    return 0;
  }
  const stale = Object.entries(madePages(io.root)).filter(
    ([path, page]) => page !== readFileSync(join(io.root, path), "utf8"),
  );
  for (const [path, page] of stale) {
    if (check) io.err(`${path} is not what the code and the bench say: run npm run tables`);
    else writeFileSync(join(io.root, path), page);
  }
  return check && stale.length > 0 ? 1 : 0;
}
