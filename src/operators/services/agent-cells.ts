/** Commas and semicolons, half and full width, and the tab that spreadsheets copy. */
const SEPARATORS = /[,，;；\t]/;

/** A cell in quotes, RFC 4180: a quote in it is written twice. Blanks around it are ignored. */
const QUOTED = /^\s*"((?:[^"]|"")*)"\s*/;

/**
 * The id and the name of one line. Either may stand in quotes. Without quotes, the name is all that follows the first separator.
 *
 * @returns `form` for a line without a separator; `quotes` for quotes that do not end, or with text behind them
 */
export function cellsOf(line: string): { id: string; name: string } | "form" | "quotes" {
  const [whole = "", quotedId] = QUOTED.exec(line) ?? [];
  if (line.startsWith('"') && quotedId === undefined) return "quotes";
  const at = whole.length + line.slice(whole.length).search(SEPARATORS);
  if (at < whole.length) return "form";
  if (quotedId !== undefined && at > whole.length) return "quotes";
  const name = line.slice(at + 1).trim();
  const id = (quotedId ?? line.slice(0, at)).replaceAll('""', '"').trim();
  if (!name.startsWith('"')) return { id, name };
  const [all, quoted] = QUOTED.exec(name) ?? [];
  if (quoted === undefined || all?.length !== name.length) return "quotes";
  return { id, name: quoted.replaceAll('""', '"').trim() };
}
