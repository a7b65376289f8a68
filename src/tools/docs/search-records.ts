import { type Page, plainText } from "./page.ts";
import type { Texts } from "./texts.ts";

/** A place that the search can find: a page, or a section of one. */
export interface SearchRecord {
  url: string;
  page: string;
  /** The title of the section; empty for the beginning of a page. */
  title: string;
  text: string;
  /** Other words for its subject. */
  words?: string;
  /** Set for an English text on a Chinese page. */
  lang?: "en";
  /** The factor by which its rank is multiplied. */
  weight: number;
}

/** How many characters of a section can be found. Pages for operators are long and callers seldom search them, so theirs are few. */
const MOST_CHARACTERS = { callers: 820, others: 60, repeated: 100 };

/** Sections whose lines are places themselves, or are also on the page of errors. */
const REPEATED = /^(?:details.*|refusals|causes-and-cures|what-x-error-detail-says)$/;

/** A section whose whole text is searched, because each row of its table is a message that readers paste. */
const WHOLE = "what-standardwebhooks-says";

/** Words that readers search for although the place does not use them. A key is the place's address after `/docs/`. */
const OTHER_WORDS: Record<string, string> = {
  "errors#token_invalid": "invalid signature 签名无效 签名不对 签名错误 密钥换行",
  "integrating#sign": "signature hmac sha256 验签 加签 乱码 编码 encoding charset utf8",
  "integrating#programs-in-six-languages":
    "java python php go golang node javascript shell curl sdk example sample 示例 代码",
  "integrating#retry": "idempotent idempotency timeout backoff 幂等 超时 退避",
  "integrating#clock": "ntp time 时间 校时",
  "integrating#limits": "rate limit throttle 限流 限频",
  switching: "migrate migration move change 迁移 切换 替换 中国 大陆",
  retrying: "idempotent idempotency timeout backoff 幂等 超时 退避 去重",
  receiving: "webhook callback notification 回调 通知 推送",
  "receiving#verify": "signature webhook secret 验签 签名",
  "receiving#in-a-framework": "express fastify nestjs spring boot laravel raw body 框架 原始请求体",
  "receiving#in-five-languages": "java python php go golang node javascript sdk example sample 示例 代码",
};

/** Pages for contributors. No reader of the site looks for them: the side bar leaves them out, too. */
const FOR_CONTRIBUTORS = /^(?:decisions|numbers|simulation)$/;

/** The places of a page: its beginning, each section under a heading with an id, and the places that the page names itself. */
export function recordsOf(page: Page, { link }: Texts): SearchRecord[] {
  if (FOR_CONTRIBUTORS.test(page.path)) return [];
  const isForOthers = page.onlyEnglish || OTHERS.test(page.path);
  const most = isForOthers ? MOST_CHARACTERS.others : MOST_CHARACTERS.callers;
  const onlyEnglish = page.onlyEnglish === true;
  const weight = onlyEnglish ? 0.6 : isForOthers ? 1 : 1.5;
  // The problems of the admin API are the same for all its calls, so they are not searched.
  const body = isForOthers ? page.body.replace(/<h2 id="(?:answers|refusals)">.*/s, "") : page.body;
  const parts = body.split(/(?=<h[23]\b[^>]*\bid=")/);
  const sections = parts.map((part, index) => {
    const [heading = "", id = "", title = ""] = /^<h[23]\b[^>]*\bid="([^"]+)"[^>]*>(.*?)<\/h[23]>/s.exec(part) ?? [];
    const text = plainText(part.slice(heading.length).replace(CODE, shortCode).replaceAll(BLOCK_END, " $&"));
    return {
      url: link(id === "" || index === 0 ? page.path : `${page.path}#${id}`),
      page: page.title,
      title: plainText(title).replace(/ #$/, ""),
      text: id === WHOLE ? text : text.slice(0, REPEATED.test(id) ? MOST_CHARACTERS.repeated : most),
      weight,
      ...(onlyEnglish && { lang: "en" as const }),
      ...wordsFor(page.path, id, index),
    };
  });
  const places = (page.places ?? []).map(({ id, title, text }) => ({
    url: link(`${page.path}#${id}`),
    page: page.title,
    title,
    text,
    weight,
  }));
  return [...sections, ...places];
}

function wordsFor(path: string, id: string, section: number): { words?: string } {
  const words = OTHER_WORDS[section === 0 || id === "" ? path : `${path}#${id}`];
  return words === undefined ? {} : { words };
}

const CODE = /<pre\b.*?<\/pre>/gs;

/** Commands can be found. Programs and printed answers cannot: they would push the prose of their section out of the index. */
const shortCode = (code: string) => (code.split("\n").length > 3 ? "" : code);

/** The end of a sentence, also where no blank follows it. */
const BLOCK_END = /<\/(?:p|td|th|li|pre|h\d|dd|dt|small)>/g;

const OTHERS =
  /^(?:architecture|data-location|deploying|operating(?:\/.*)?|paged|scale|threat-model|upgrading|reference\/(?!create_gd|add_kf).*)$/;
