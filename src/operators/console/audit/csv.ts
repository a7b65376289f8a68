/** A spreadsheet runs a cell as a formula when it begins with one of these. Some spreadsheets accept the full-width signs too. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/**
 * Rows as CSV (RFC 4180). A cell that a spreadsheet would run as a formula begins with an apostrophe. The byte order mark at the
 * start tells Excel that the file is UTF-8.
 */
export const csvOf = (rows: readonly string[][]): string =>
  `\ufeff${rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("")}`;

function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  // Some spreadsheets split at semicolons and tabs too.
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
