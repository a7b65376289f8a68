/** Commas or semicolons, half and full width, or the tabs that spreadsheets copy. The first one in a line separates all its cells. */
const SEPARATORS = [/[,，]/, /[;；]/, /\t/];

/** A cell in quotes, RFC 4180: a quote in it is written twice. */
const QUOTED = /^[^\S\t]*"((?:[^"]|"")*)"/;

// The look behind keeps it fast on a long run of blanks.
const EMPTY_ENDS = /^\s+|(?<![\s,，;；])[\s,，;；]+$/g;

/**
 * The cells of one line: in CSV, or as a spreadsheet copies them. Text in quotes may hold any separator. Blanks around a cell are left out,
 * and separators of another kind at its end too.
 *
 * @returns undefined for quotes that do not end, or with text in front of or behind them
 */
export function cellsOf(line: string): string[] | undefined {
  const cells: string[] = [];
  let separator = /[,，;；\t]/;
  for (let rest = line; ; ) {
    const [whole = "", quoted] = QUOTED.exec(rest) ?? [];
    const behind = rest.slice(whole.length);
    const end = behind.search(separator);
    const bare = (end === -1 ? behind : behind.slice(0, end)).replace(EMPTY_ENDS, "");
    if (quoted === undefined ? bare.startsWith('"') : bare !== "") return undefined;
    cells.push(quoted?.replaceAll('""', '"').trim() ?? bare);
    if (end === -1) return cells;
    separator = SEPARATORS.find((each) => each.test(behind.charAt(end))) ?? separator;
    rest = behind.slice(end + 1);
  }
}
