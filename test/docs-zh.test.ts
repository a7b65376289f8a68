import { describe, expect, it } from "vitest";
import { WIRE_ERRORS } from "../src/core/errors.ts";
import { ACCEPTED_VECTOR, DOCUMENTED_VECTOR, VECTOR_SECRET } from "../src/tools/openapi/signature-vectors.ts";

const textsOf = (files: Record<string, string>) =>
  Object.entries(files).map(([path, text]): [string, string] => [path.replace("../", ""), text]);

const pages = textsOf(
  import.meta.glob(["../README.zh-CN.md", "../docs/zh/*.md"], { query: "?raw", import: "default", eager: true }),
);
const english = new Map(textsOf(import.meta.glob("../docs/*.md", { query: "?raw", import: "default", eager: true })));
const texts = textsOf(
  import.meta.glob("../src/tools/docs/zh.json", { query: "?raw", import: "default", eager: true }),
).map(([path, text]): [string, string] => [path, Object.values(JSON.parse(text) as Record<string, string>).join("\n")]);

const [[, readme] = ["", ""]] = textsOf(
  import.meta.glob("../README.md", { query: "?raw", import: "default", eager: true }),
);

const pageOf = (path: string) => new Map(pages).get(path) ?? "";
const guide = pageOf("docs/zh/integrating.md");

const blocksOf = (page: string, language: string) =>
  [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(([, of]) => of === language).map(([, , code = ""]) => code);

/** Code without the customer's name and message, which each page has in its own language. */
const withoutTexts = (code: string) => code.replaceAll(/"(sbs_mc|content)":"[^"]*"/g, '"$1":"…"');

/** The parts of a page between markers, which `npm run tables` fills. */
const MADE = /^<!-- made: ([^\n]+) -->\n(.*?)^<!-- \/made -->$/gms;
const madeParts = (page: string) => [...page.matchAll(MADE)].map(([, name]) => name);
const writtenByHand = (page: string) => page.replaceAll(MADE, "");

/** The levels of the headings, the languages of the code blocks and the generated parts of a page, in their order. */
function outlineOf(page: string): string[] {
  const marks = page
    .replaceAll(MADE, "<!-- made: $1 -->")
    .replaceAll(/^```(\w*)\n.*?^```$/gms, "```$1")
    .matchAll(/^(#{1,6}) .+$|^(```\w*)$|^(<!-- made: .+ -->)$/gm);
  return [...marks].map(([, heading, block, marker]) => heading ?? block ?? marker ?? "");
}

/** Words that no page may use, because another word has this meaning here, or because no native writer uses them. A comment names
 * the right words. */
const BANNED = [
  "推送",
  "送来",
  "下发",
  "回调地址", // 投递
  "负责客服",
  "主责客服",
  "管理员方",
  "运营方", // 负责人, 运维方
  "数据中心",
  "机房", // 数据库（home）; 节点
  "打开所有站点",
  "打开全部站点",
  "自己当一回",
  "共用同一份",
  "全部六个",
  "对不上的时候",
  "不知道做了没有",
  "做了没有",
  "不确定，要么", // 是否已执行不确定
  "随机字符串",
  "客户标识",
  "跳过一段",
  "跳过的号",
  "网钩",
  "钩子地址", // 随机串, 客户编号, 跳号, Webhook
];

it("the five Chinese pages exist", () => {
  expect(pages.map(([path]) => path).sort()).toEqual([
    "README.zh-CN.md",
    "docs/zh/integrating.md",
    "docs/zh/receiving.md",
    "docs/zh/retrying.md",
    "docs/zh/switching.md",
  ]);
  expect(texts[0]?.[1].split("\n").length).toBeGreaterThan(190);
});

describe.each(pages.filter(([path]) => path.startsWith("docs/")))("%s", (path, page) => {
  it("the Chinese page has the same headings, code blocks and generated parts as the English page, in the same order", () => {
    const original = english.get(path.replace("docs/zh/", "docs/")) ?? "";
    expect(outlineOf(original).length).toBeGreaterThan(6);
    expect(outlineOf(page)).toEqual(outlineOf(original));
  });

  it("the Chinese page and the English page link to each other", () => {
    const name = path.replace("docs/zh/", "");
    expect(page.split("\n")[2]).toBe(`[English](../${name}) | 简体中文`);
    expect(english.get(`docs/${name}`)?.split("\n")[2]).toBe(`English | [简体中文](zh/${name})`);
  });
});

describe.each([...pages, ...texts])("%s", (_, page) => {
  it("the Chinese text uses no banned word", () => {
    expect(BANNED.filter((word) => page.includes(word))).toEqual([]);
  });

  it("the Chinese text writes Webhook with a capital, except in code and addresses", () => {
    const prose = page
      .replaceAll(/^```.*?^```$/gms, "")
      .replaceAll(/`[^`\n]+`|\]\([^)]*\)|[\w/.-]*webhook[-_.]\w+/g, "");
    expect(prose.match(/.{0,9}\bwebhooks?\b.{0,9}/g) ?? []).toEqual([]);
  });
});

it.each(pages)(
  "%s has each paragraph on one line, because a line break between Chinese characters shows as a blank",
  (_, page) => {
    const prose = page.replaceAll(/^ *```\w*\n.*?^ *```$/gms, "\n");
    expect(prose.match(/(?<=^(?!\||<!--|#).+\n)(?!\||<!--|#| *[-*\d]\S* ).+/gm) ?? []).toEqual([]);
  },
);

it("the promise of the Chinese page on retrying stands on no other Chinese page", () => {
  const promise = "500 和 503 之后，是否已执行不确定";
  expect(pages.filter(([, page]) => page.includes(promise)).map(([path]) => path)).toEqual(["docs/zh/retrying.md"]);
});

it("the Chinese table on retrying gives the same advice for each answer as the English table", () => {
  const rows = (page: string) =>
    [...page.matchAll(/^\| (?!`|---)(.+) \|$/gm)]
      .map(([, row = ""]) => row.split(" | "))
      .filter((row) => row.length === 4);
  const [, ...original] = rows(english.get("docs/retrying.md") ?? "");
  const [, ...translation] = rows(pageOf("docs/zh/retrying.md"));
  expect(original.length).toBeGreaterThan(7);
  const codeOf = (text = "") => (text.match(/\b\d\d\d\b|`[^`]+`/g) ?? []).sort();
  expect(
    translation.map(([answer, , ...cells]) => [codeOf(answer), ...cells.map((cell) => !/^不要|^无需/.test(cell))]),
  ).toEqual(original.map(([answer, , ...cells]) => [codeOf(answer), ...cells.map((cell) => cell.startsWith("retry"))]));
  expect(translation.map(([, outcome = ""]) => outcome.startsWith("是否已执行不确定"))).toEqual(
    original.map(([, outcome = ""]) => outcome.startsWith("unknown")),
  );
});

it("the Chinese README opens with the same four lines of code as the English README", () => {
  const [lines, original] = [pageOf("README.zh-CN.md"), readme].map((page) =>
    withoutTexts(blocksOf(page, "sh")[0] ?? ""),
  );
  expect(lines).toBe(original);
});

it("only the Chinese guide has the tables of the contract, and they are generated from the code", () => {
  expect(madeParts(guide)).toEqual(["calls", "callers", "fields create_gd", "fields add_kf", "refusals", "details"]);
  expect(madeParts(pageOf("docs/zh/retrying.md"))).toEqual(["caller-rules"]);
  const messages = Object.values(WIRE_ERRORS).map(({ message }) => `\`${message}\``);
  for (const [path, page] of pages) {
    const rows = writtenByHand(page)
      .split("\n")
      .filter((line) => line.startsWith("| ") && messages.some((message) => line.includes(message)));
    expect([path, rows]).toEqual([path, []]);
  }
});

describe("the guide in Chinese", () => {
  it("the Chinese guide gives the key, the body and the signature of both test vectors", () => {
    expect(guide).toContain(`\`${VECTOR_SECRET}\``);
    for (const { body, signature } of [ACCEPTED_VECTOR, DOCUMENTED_VECTOR]) {
      expect(blocksOf(guide, "json")).toContain(`${body}\n`);
      expect(guide).toContain(`\`${signature}\``);
    }
  });

  it("the Chinese guide has the same code blocks as the English guide, except for customer texts", () => {
    const original = english.get("docs/integrating.md") ?? "";
    for (const language of ["sh", "ts", "json", "text"]) {
      const plain = (page: string) => blocksOf(writtenByHand(page), language).map(withoutTexts);
      expect(plain(guide)).toEqual(plain(original));
    }
  });

  it("the Chinese guide has code of the example programs only in generated parts", () => {
    expect(writtenByHand(guide)).not.toMatch(/^set -eu$/m);
    expect(blocksOf(writtenByHand(guide), "python")).toEqual([]);
  });
});
