import type { Weight } from "./count-weight.ts";

/** A row of WEIGHT.md. */
export interface WeightRow extends Weight {
  folder: string;
  /** The smallest weight of the folder since the table has it. */
  least: Weight;
  /** Why it weighs more than its smallest weight: sentences, or "". */
  why: string;
}

const COUNTED_PART = /(?<=<!-- counted -->\n).*?(?=<!-- \/counted -->)/s;

const HEAD = `| folder | tokens | lines | least tokens | least lines | more than its least, and why |
|---|---:|---:|---:|---:|---|
`;

/** The rows of folders in the page, without the sums. */
export function committedRows(page: string): WeightRow[] {
  const rows = (COUNTED_PART.exec(page)?.[0] ?? "").matchAll(
    /^\| (\w\S*) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|(?: \+\S+, \+\S+: (.*))? \|$/gm,
  );
  const parseNumber = (text = "") => Number(text.replaceAll(",", ""));
  return [...rows].map(([, folder = "", tokens, lines, leastTokens, leastLines, why = ""]) => ({
    folder,
    tokens: parseNumber(tokens),
    lines: parseNumber(lines),
    least: { tokens: parseNumber(leastTokens), lines: parseNumber(leastLines) },
    why,
  }));
}

/**
 * The rows that the page must have. A smaller number replaces the old one. A larger number replaces it only with a reason.
 *
 * @param reasons the new sentences, by folder
 * @returns the rows, and a line for each row that rose without a reason. A new folder counts as risen from nothing
 */
export function settleWeights(
  committed: WeightRow[],
  counted: ReadonlyMap<string, Weight>,
  reasons: ReadonlyMap<string, string>,
): { rows: WeightRow[]; faults: string[] } {
  const before = new Map(committed.map((row) => [row.folder, row]));
  const faults: string[] = [];
  const rows = [...counted].map(([folder, now]) => {
    const oldWeight = before.get(folder) ?? { tokens: 0, lines: 0, least: { tokens: 0, lines: 0 }, why: "" };
    const least = {
      tokens: Math.min(now.tokens, oldWeight.least.tokens),
      lines: Math.min(now.lines, oldWeight.least.lines),
    };
    const isMore = now.tokens > least.tokens || now.lines > least.lines;
    const rose = now.tokens > oldWeight.tokens || now.lines > oldWeight.lines;
    const reason = reasons.get(folder) ?? "";
    if (isMore && (rose ? reason : oldWeight.why) === "") {
      const [from, to] = [rose ? oldWeight : least, now].map(({ tokens, lines }) => `${tokens} tokens, ${lines} lines`);
      faults.push(
        `${folder} rose from ${from} to ${to}. Make it less, or say why: npm run weight -- --write --why "${folder}=The …."`,
      );
    }
    const isNew = rose && !` ${oldWeight.why} `.includes(` ${reason} `);
    return { folder, ...now, least, why: isMore ? `${oldWeight.why} ${isNew ? reason : ""}`.trim() : "" };
  });
  return { rows, faults };
}

/**
 * A line for each row whose smallest weight is higher than in an older table. Somebody raised it by hand, so that the row needs no reason.
 *
 * @param older the rows of an earlier committed table
 */
export function raisedLeasts(older: WeightRow[], rows: WeightRow[]): string[] {
  const before = new Map(older.map(({ folder, least }) => [folder, least]));
  return rows.flatMap(({ folder, least }) => {
    const oldWeight = before.get(folder) ?? least;
    const isRaised = least.tokens > oldWeight.tokens || least.lines > oldWeight.lines;
    return isRaised
      ? `The least of ${folder} may only fall: it was ${oldWeight.tokens} tokens, ${oldWeight.lines} lines.`
      : [];
  });
}

/** The table as Markdown, with the sums of src and test above the folders. */
export function tableOf(rows: WeightRow[]): string {
  const sums = ["src", "test"].map((top) => {
    const rowsOfFolder = rows.filter(({ folder }) => folder.split("/")[0] === top);
    const sum = (key: keyof Weight) => groupDigits(rowsOfFolder.reduce((total, row) => total + row[key], 0));
    return `| **all of ${top}** | ${sum("tokens")} | ${sum("lines")} | | | |\n`;
  });
  const folders = rows.map(({ folder, tokens, lines, least, why }) => {
    const reasonText = why && ` +${groupDigits(tokens - least.tokens)}, +${groupDigits(lines - least.lines)}: ${why}`;
    const numbers = [tokens, lines, least.tokens, least.lines].map(groupDigits).join(" | ");
    return `| ${folder} | ${numbers} |${reasonText} |\n`;
  });
  return [HEAD, ...sums, ...folders].join("");
}

const groupDigits = (n: number) => n.toLocaleString("en");

/** Replaces the table between the page's markers by the table of these rows. */
export const withTable = (page: string, rows: WeightRow[]) => page.replace(COUNTED_PART, () => tableOf(rows));
