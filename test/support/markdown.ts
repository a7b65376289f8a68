/** Reads the project's Markdown pages: their links, headings and tables. */

/** Pages by their paths from the project's folder. */
type Pages = Record<string, string>;

/** A page without its blocks of code. */
const withoutBlocks = (text: string) => text.replaceAll(/^( *)```.*?^\1```$/gms, "");

/**
 * The anchors of a page's headings as GitHub makes them: lower case, digits, hyphens for blanks; a repeated name gets a
 * number.
 */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title = ""] of withoutBlocks(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const shownTitle = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const name = shownTitle.replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replaceAll(" ", "-");
    let anchor = name;
    for (let double = 1; anchors.has(anchor); double++) anchor = `${name}-${double}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** The relative links and pictures of a page: the link itself, and the file and the anchor of its target. */
export function linksOf(path: string, text: string): { link: string; target: string; anchor: string }[] {
  const prose = withoutBlocks(text).replaceAll(/(`+).+?\1/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const { pathname, hash } = new URL(link, `root:/${path}`);
      return { link, target: decodeURIComponent(pathname.slice(1)), anchor: decodeURIComponent(hash.slice(1)) };
    });
}

/** The broken links, as `page → link`. */
export function brokenLinks(pages: Pages, files: readonly string[]): string[] {
  const anchors = new Map(Object.entries(pages).map(([path, text]) => [path, anchorsOf(text)]));
  const leads = ({ target, anchor }: { target: string; anchor: string }) =>
    target.endsWith("/")
      ? files.some((file) => file.startsWith(target))
      : files.includes(target) && (anchor === "" || anchors.get(target)?.has(anchor) === true);
  return Object.entries(pages).flatMap(([path, text]) =>
    linksOf(path, text)
      .filter((link) => !leads(link))
      .map(({ link }) => `${path} → ${link}`),
  );
}

/** The rows of a page's tables, cell by cell. */
export const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^ *\| (.+) \|$/gm)].map(([, row = ""]) => row.split(" | ").map((cell) => cell.trim()));
