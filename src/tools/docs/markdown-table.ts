/** A table as the pages in docs/ have it, without padding; the last line ends too. */
export function markdownTable(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return `${[line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n")}\n`;
}
