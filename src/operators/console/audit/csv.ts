/** A program that opens the file would run a cell that begins so, as a formula. The full-width signs count too in some. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/**
 * Rows as CSV (RFC 4180). Cells that a spreadsheet would take for a formula begin with an apostrophe. The mark at the start tells Excel
 * that it is UTF-8.
 */
export const csvOf = (rows: readonly string[][]): string =>
  `\ufeff${rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("")}`;

function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  // Some spreadsheets split at semicolons and tabs too.
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
