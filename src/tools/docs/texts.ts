/** The languages of the docs, with the folder of their pages and their name in HTML. */
export const LANGUAGES = {
  en: { folder: "docs", tag: "en", name: "English" },
  zh: { folder: "docs/zh", tag: "zh-CN", name: "中文" },
} as const;

export type Language = keyof typeof LANGUAGES;

export interface Texts {
  language: Language;
  /** A text in this language, given in English. `{0}`, `{1}`, … stand for the values. A missing text is noted in `missingTexts`. */
  t: (english: string, ...values: (string | number)[]) => string;
  /** Like `t`, but undefined when the language has no such text. */
  find: (english: string) => string | undefined;
  /** The address of a page in this language: `errors` is `/docs/zh/errors/`. */
  link: (page: string) => string;
  /** The English of all texts that were asked for. */
  usedTexts: Set<string>;
  missingTexts: Set<string>;
}

/** @param chinese the Chinese texts by their English ones; only the Chinese pages need them */
export function textsOf(language: Language, chinese: Record<string, string>): Texts {
  const usedTexts = new Set<string>();
  const missingTexts = new Set<string>();
  const find = (english: string) => {
    usedTexts.add(english);
    return language === "en" ? english : chinese[english];
  };
  return {
    language,
    usedTexts,
    missingTexts,
    find,
    t: (english, ...values) => {
      const text = find(english);
      if (text === undefined) missingTexts.add(english);
      return (text ?? english).replace(/\{(\d)\}/g, (_, index) => String(values[Number(index)] ?? ""));
    },
    link: (page) => linkTo(language, page),
  };
}

/** The same texts for a part that must be whole in each language: also a text that is only looked for is noted when it is missing. */
export const wholeTexts = (texts: Texts): Texts => ({
  ...texts,
  find(english) {
    const text = texts.find(english);
    if (text === undefined) texts.missingTexts.add(english);
    return text;
  },
});

/** The address of a page, which may end in an anchor: `errors#token_invalid`. */
export function linkTo(language: Language, page: string): string {
  const [path = "", anchor] = page.split("#");
  const folder = `/${LANGUAGES[language].folder}/${path === "" ? "" : `${path}/`}`;
  return anchor === undefined ? folder : `${folder}#${anchor}`;
}
