/** `npm run weight`: how much there is to read in each folder, compared with the committed table WEIGHT.md. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { command } from "./command.ts";
import { countWeight } from "./count-weight.ts";
import type { Io } from "./io.ts";
import { readOptions, UsageError } from "./known-options.ts";
import { committedRows, raisedLeasts, settleWeights, tableOf, withTable } from "./weight-table.ts";

const USAGE = `npm run weight -- [options]

Prints the weight of each folder. Exit code 1: WEIGHT.md has other numbers, or a number rose and no sentence says why.

  --write                writes WEIGHT.md
  --why FOLDER=SENTENCE  why a folder weighs more, for --write; may be repeated
  --help, -h             this`;

const OPTIONS = {
  write: { type: "boolean" },
  why: { type: "string", multiple: true },
  help: { type: "boolean", short: "h" },
} as const;

export const main = command(import.meta, weigh, "npm run weight -- --help tells more.");

async function weigh(args: string[], io: Io): Promise<number> {
  const { write = false, why = [], help } = readOptions("npm run weight -- …", args, OPTIONS, { env: io.env }).values;
  if (help === true) {
    io.out(USAGE);
    return 0;
  }
  const file = join(io.root, "WEIGHT.md");
  const page = readFileSync(file, "utf8");
  const counted = countWeight(io.root);
  const { rows, faults } = settleWeights(committedRows(page), counted, reasonsOf(why, counted));
  faults.push(...raisedLeasts(committedRows(pageBefore(io.root, page)), rows));
  const newPage = withTable(page, rows);
  if (write && faults.length === 0) writeFileSync(file, newPage);
  else io.out(tableOf(rows));
  if (!write && faults.length === 0 && newPage !== page) {
    faults.push("WEIGHT.md has other numbers than counted: run npm run weight -- --write.");
  }
  for (const fault of faults) io.err(fault);
  return faults.length === 0 ? 0 : 1;
}

/** The newest committed table that differs from this one. "" when git has none, as in a clone of one commit. */
function pageBefore(root: string, page: string): string {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    const commits = git("log", "-2", "--format=%H", "--", "WEIGHT.md").split("\n").filter(Boolean);
    return commits.map((commit) => git("show", `${commit}:WEIGHT.md`)).find((each) => each !== page) ?? "";
  } catch {
    return ""; // Nothing is committed yet.
  }
}

/** @throws UsageError for a folder without a row, and for a reason that is no sentence */
function reasonsOf(why: string[], folders: ReadonlyMap<string, unknown>): Map<string, string> {
  return new Map(
    why.map((each) => {
      const [, folder = "", sentence = ""] = /^([^=]*)=(.*)$/.exec(each) ?? [];
      if (!folders.has(folder)) throw new UsageError(`--why ${folder}: npm run weight names no such folder.`);
      if (!/^\w[^|]+\.$/.test(sentence))
        throw new UsageError(`--why ${folder}: the reason is a sentence with a full stop.`);
      return [folder, sentence];
    }),
  );
}
