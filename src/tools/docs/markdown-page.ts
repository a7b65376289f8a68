import { type Anchor, anchorsOf, renderMarkdown } from "./markdown.ts";
import { headingsOf, type Page, plainText } from "./page.ts";
import { type Language, linkTo, type Texts } from "./texts.ts";

/** A file of the repository that is also a page of the docs. */
export interface MarkdownSource {
  /** The page's address after `/docs/`. */
  page: string;
  /** The path of its file from the project's folder. */
  file: string;
  chinese?: string;
}

/** Pages for callers and receivers. They are in both languages. */
const TRANSLATED = ["integrating", "switching", "receiving", "retrying"];
const ENGLISH = [
  "deploying",
  "upgrading",
  "operating",
  "paged",
  "operating/watching",
  "operating/people",
  "operating/sites-and-secrets",
  "operating/webhooks",
  "operating/data-and-restore",
  "data-location",
  "scale",
  "threat-model",
  "contract",
  "architecture",
  "decisions",
  "numbers",
  "simulation",
];

/** Every page of docs/ and the client's README. test/tools/docs/pages.test.ts names a file of docs/ that is missing here. */
export const SOURCES: readonly MarkdownSource[] = [
  ...TRANSLATED.map((page) => ({ page, file: `docs/${page}.md`, chinese: `docs/zh/${page}.md` })),
  ...ENGLISH.map((page) => ({ page, file: `docs/${page}.md` })),
  { page: "client", file: "src/client/README.md" },
];

/** The READMEs, which are no pages of their own. The front page has their headings. */
const README_FILES = ["README.md", "README.zh-CN.md"];

export interface Files {
  /** The text of a file of the repository, by its path from the project's folder. */
  read: (path: string) => string;
  headings: (path: string) => Anchor[];
  /** The address of the repository, to which links to other files lead. */
  repository: string;
}

/** Reads a file's headings once, because each page asks for the headings of all pages that it links to. */
export function headingsBy(read: Files["read"]): Files["headings"] {
  const known = new Map<string, Anchor[]>();
  return (path) => {
    const headings = known.get(path) ?? anchorsOf(read(path));
    known.set(path, headings);
    return headings;
  };
}

/**
 * Makes the page of a Markdown file.
 *
 * @param parts HTML for the parts between the markers `made: NAME` in the file. Other parts stay as they are written
 * @throws Error when a Chinese page has other headings than the English one
 */
export function markdownPage(source: MarkdownSource, texts: Texts, files: Files, parts: Record<string, string>): Page {
  const { language } = texts;
  const file = language === "zh" ? (source.chinese ?? source.file) : source.file;
  const markdown = withoutFrameParts(files.read(file));
  const ids = idsOf(source, file, files);
  const link = (href: string) => addressOf(href, file, language, files);
  const html = renderMarkdown(withParts(markdown, parts), {
    link,
    idOf: (heading, anchor) => ids.byHeading[heading]?.id ?? anchor,
  });
  const body = html.replaceAll(/<p>@@(\w+)@@<\/p>/g, (_, name: string) => parts[name] ?? "");
  const title = ids.byHeading[0]?.title ?? source.page;
  return {
    path: source.page,
    title,
    description: firstSentences(body),
    body,
    markdown: withLinks(markdown.replaceAll(MARKER, ""), (href) =>
      link(href).replace(/^#/, `${linkTo(language, source.page)}#`),
    ),
    headings: headingsOf(body).map((heading) => ({ ...heading, title: heading.title.replace(/ #$/, "") })),
    ...(language === "zh" && source.chinese === undefined && { onlyEnglish: true }),
  };
}

/** A file's headings get the ids of its English page, so that a reader who changes the language stays in the same section. */
function idsOf({ file: englishFile }: MarkdownSource, file: string, { headings }: Files) {
  const ownHeadings = headings(file);
  if (file === englishFile)
    return { byHeading: ownHeadings.map(({ anchor, title }) => ({ id: anchor, anchor, title })) };
  const english = headings(englishFile);
  const outline = (all: Anchor[]) => all.map(({ depth }) => depth).join(" ");
  if (outline(ownHeadings) !== outline(english)) {
    throw new Error(`${file} has other headings than ${englishFile}: ${outline(ownHeadings)} and ${outline(english)}`);
  }
  return {
    byHeading: ownHeadings.map(({ anchor, title }, index) => ({ id: english[index]?.anchor ?? anchor, anchor, title })),
  };
}

/** The Markdown without the links to the other language and the list of contents, which the frame has. */
const withoutFrameParts = (markdown: string): string =>
  markdown
    .replace(/^(?:English \| \[|\[English\]\().*\n\n?/m, "")
    .replace(/(?:^(?:\d+\.|-) \[[^\]]+\]\(#[^)]+\).*\n(?: +.*\n)*){4,}\n?/m, "");

/** What stands before and after the parts that `npm run tables` writes. */
const MARKER = /<!-- (?:made: [\w. -]+?|\/made) -->(?:\n\n)?/g;

/** The Markdown with placeholders for `parts`. */
function withParts(markdown: string, parts: Record<string, string>): string {
  return markdown
    .replaceAll(/<!-- made: ([\w. -]+?) -->\n(.*?)<!-- \/made -->/gs, (_, name: string, written: string) =>
      name in parts ? `\n@@${name}@@\n` : `<div class="made">\n\n${written}\n</div>\n`,
    )
    .replaceAll(MARKER, "");
}

/** Markdown with other addresses in its links. Code stays as it is. A picture, which is in the repository only, becomes a link. */
const withLinks = (markdown: string, link: (href: string) => string): string =>
  markdown.replaceAll(
    /(^ *```.*?^ *```|`[^`]+`)|!?(?=\[)|\]\(([^)\s]+)\)/gms,
    (_, code?: string, href?: string) => code ?? (href === undefined ? "" : `](${link(href)})`),
  );

/** The address on the site to which a file's link leads. */
function addressOf(href: string, file: string, language: Language, files: Files): string {
  if (/^[a-z]+:/.test(href)) return href;
  const { pathname, hash } = new URL(href, `root:/${file}`);
  const target = decodeURIComponent(pathname.slice(1));
  const anchor = decodeURIComponent(hash.slice(1));
  if (target === file) return `#${idOfAnchor(target, anchor, files)}`;
  const source = SOURCES.find((each) => each.file === target || each.chinese === target);
  if (source !== undefined) {
    const to = source.chinese === target ? "zh" : language;
    return linkTo(to, anchor === "" ? source.page : `${source.page}#${idOfAnchor(target, anchor, files)}`);
  }
  if (README_FILES.includes(target)) return linkTo(language, anchor === "" ? "" : "#own-machine");
  const [, program] = /^src\/client\/examples\/(.+)$/.exec(target) ?? [];
  if (program !== undefined) return `/docs/examples/${program}`;
  if (target === "src/client/examples/") return linkTo(language, "integrating#programs-in-six-languages");
  return `${files.repository}/${target.endsWith("/") ? "tree" : "blob"}/main/${target}${hash}`;
}

/** The site's id of an anchor in a file. */
function idOfAnchor(file: string, anchor: string, files: Files): string {
  const source = SOURCES.find((each) => each.file === file || each.chinese === file);
  if (source === undefined) return anchor;
  return idsOf(source, file, files).byHeading.find((heading) => heading.anchor === anchor)?.id ?? anchor;
}

const firstSentences = (body: string): string => plainText(/<p>(.*?)<\/p>/s.exec(body)?.[1] ?? "").slice(0, 300);
