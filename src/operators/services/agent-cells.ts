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
    const afterQuote = rest.slice(whole.length);
    const end = afterQuote.search(separator);
    const unquotedCell = (end === -1 ? afterQuote : afterQuote.slice(0, end)).replace(EMPTY_ENDS, "");
    if (quoted === undefined ? unquotedCell.startsWith('"') : unquotedCell !== "") return undefined;
    cells.push(quoted?.replaceAll('""', '"').trim() ?? unquotedCell);
    if (end === -1) return cells;
    separator = SEPARATORS.find((each) => each.test(afterQuote.charAt(end))) ?? separator;
    rest = afterQuote.slice(end + 1);
  }
}
