import { describe, expect, it } from "vitest";
import { WIRE_ERRORS } from "../../../src/core/errors.ts";
import { DOCUMENTED, OPERATIONS } from "../../../src/core/operations/index.ts";
import { ADMIN_CALLS } from "../../../src/operators/admin/calls.ts";
import { SOURCES } from "../../../src/tools/docs/markdown-page.ts";
import { plainText } from "../../../src/tools/docs/page.ts";
import { PROGRAMS } from "../../../src/tools/docs/programs.ts";
import { answersOf, callsOf } from "../../../src/tools/docs/reference/openapi.ts";
import { fieldsOf, formsOf, resolve } from "../../../src/tools/docs/schema.ts";
import { withTables } from "../../../src/tools/docs/tables.ts";
import { textsOf } from "../../../src/tools/docs/texts.ts";
import docsChinese from "../../../src/tools/docs/zh.json";
import { FAILURES } from "../../../src/tools/openapi/failures.ts";
import { CHINESE, FILES, openapi, readPage, site } from "./site.ts";

const ENGLISH = site("en");
const SITE = { en: ENGLISH, zh: site("zh") };
const LANGUAGES = ["en", "zh"] as const;
/** The files of the site, by their addresses. */
const PAGES = Object.fromEntries(
  Object.values(SITE).flatMap(({ files }) =>
    Object.entries(files).map(([path, html]) => [`/${path.replace(/index\.html$/, "")}`, html]),
  ),
);

const page = (address: string) => {
  const html = PAGES[address];
  if (html === undefined) throw new Error(`there is no ${address}`);
  return html;
};

describe("the pages of /docs", () => {
  it("the Chinese and the English pages have the same addresses", () => {
    const addresses = LANGUAGES.map((language) => SITE[language].pages.map(({ path }) => path));
    expect(addresses[1]).toEqual(addresses[0]);
    expect(new Set(addresses[0]).size).toBe(addresses[0]?.length);
  });

  it("each file of docs/, each call, each event and each program is on a page", () => {
    const known = SOURCES.flatMap(({ file, chinese = "" }) => [file, chinese]);
    expect(FILES.filter((file) => !known.includes(file))).toEqual([]);
    const paths = ENGLISH.pages.map(({ path }) => path);
    const calls = [
      ...OPERATIONS.flatMap(({ wireName, eventType }) => [wireName, eventType]),
      ...ADMIN_CALLS.map(({ id }) => id),
    ];
    expect(calls.filter((name) => !paths.includes(`reference/${name}`))).toEqual([]);
    for (const { file } of PROGRAMS) expect(readPage(`src/client/examples/${file}`)).not.toBe("");
  });

  it("the side bar has every page except those for who changes the service, and the pages of single calls", () => {
    const [, menu = ""] = page("/docs/").split('<nav class="side"');
    const listed = [...menu.matchAll(/href="\/docs\/([^"]*?)\/?"/g)].map(([, path]) => path);
    const others = ENGLISH.pages.map(({ path }) => path).filter((path) => !listed.includes(path));
    expect(others.filter((path) => !path.startsWith("reference/")).sort()).toEqual([
      "decisions",
      "not-found",
      "numbers",
      "search",
      "simulation",
    ]);
    expect(page("/docs/decisions/")).toMatch(/<h2>On this page<\/h2><ul><li[^>]*><a href="#/);
  });

  it("no link of a page leads to a missing page or heading", () => {
    const links = Object.entries(PAGES).flatMap(([from, html]) =>
      [...html.matchAll(/<a [^>]*\bhref="([^"]+)"/g)].map(([, to = ""]) => ({ from, to })),
    );
    expect(links.length).toBeGreaterThan(5_000);
    const isThere = ({ from, to }: { from: string; to: string }) => {
      const { pathname, hash, host } = new URL(to, `https://docs${from}`);
      if (host !== "docs") return true;
      if (/^\/(?:console(?:\/.*)?|openapi(?:\.callers)?\.json)$/.test(pathname)) return true;
      if (pathname.endsWith(".md")) return pathname.slice(1) in { ...SITE.en.markdown, ...SITE.zh.markdown };
      if (pathname.startsWith("/docs/examples/")) return PROGRAMS.some(({ file }) => pathname.endsWith(`/${file}`));
      const html = PAGES[pathname];
      return html !== undefined && (hash === "" || html.includes(` id="${decodeURIComponent(hash.slice(1))}"`));
    };
    expect(links.filter((link) => !isThere(link)).map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  it("links keep the reader's language, except the switch of languages and links to files in English", () => {
    for (const [address, html] of Object.entries(PAGES)) {
      const [, main = ""] = html.split('<main id="main"');
      const [body = ""] = main.split("</main>");
      const others = [...body.matchAll(/href="(\/docs\/(?!examples)[^"]*)"/g)]
        .map(([, to = ""]) => to)
        .filter((to) => to.startsWith("/docs/zh/") !== address.startsWith("/docs/zh/"));
      expect([address, others]).toEqual([address, []]);
    }
  });

  it("each page has the same ids in the same order in both languages, so that the switch keeps the place", () => {
    const idsOf = (html: string) => [...html.matchAll(/<h[1-4][^>]* id="([^"]+)"/g)].map(([, id]) => id);
    for (const { path } of ENGLISH.pages) {
      const [english, chinese] = ["/docs/", "/docs/zh/"].map((folder) => `${folder}${path === "" ? "" : `${path}/`}`);
      expect([path, idsOf(page(chinese ?? ""))]).toEqual([path, idsOf(page(english ?? ""))]);
      expect(page(english ?? "")).toContain(`href="${chinese}" lang="zh-CN" hreflang="zh-CN"`);
      expect(page(chinese ?? "")).toContain(`href="${english}" lang="en" hreflang="en"`);
    }
  });

  it("no page has an id twice", () => {
    for (const [address, html] of Object.entries(PAGES)) {
      const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
      expect([address, ids.filter((id, index) => ids.indexOf(id) !== index)]).toEqual([address, []]);
    }
  });

  it("each text of the pages has a Chinese translation, and each translation has its text", () => {
    for (const english of ["What do you want to do?", "The first message of the session.", "A session was created"]) {
      const { [english]: _, ...lacking } = CHINESE;
      expect(() => site("zh", lacking)).toThrow(`src/tools/docs/zh.json has no Chinese for\n  "${english}": "",`);
    }
    const tables = textsOf("zh", CHINESE);
    for (const { chinese } of SOURCES) {
      if (chinese !== undefined)
        withTables(readPage(chinese), { texts: tables, openapi, numbers: {}, readPage, up: "" });
    }
    const usedTexts = new Set([...SITE.zh.texts.usedTexts, ...tables.usedTexts]);
    const grammar = /^\{0\}|^at (?:most|least) |^number$|^array$/;
    expect(Object.keys(docsChinese).filter((text) => !usedTexts.has(text) && !grammar.test(text))).toEqual([]);
  });
});

describe("the reference", () => {
  it("the page of a call names each value that one of its fields may have", () => {
    for (const call of callsOf(openapi)) {
      const { schemas } = openapi.components;
      const bodies = [
        ...Object.values(call.requestBody?.content ?? {}),
        ...answersOf(call, openapi).flatMap(({ answer }) => Object.values(answer.content ?? {})),
      ];
      const fields = bodies
        .flatMap(({ schema }) => formsOf(schema, schemas))
        .flatMap((form) => fieldsOf(form.schema, schemas));
      const html = page(`/docs/${call.page}/`);
      for (const { name, schema } of fields) {
        const values = [schema, resolve((schema.items ?? {}) as typeof schema, schemas)].flatMap((each) =>
          Array.isArray(each.enum) ? each.enum.map(String) : [],
        );
        expect([call.page, name, values.filter((value) => !html.includes(`<code>${value}</code>`))]).toEqual([
          call.page,
          name,
          [],
        ]);
        expect(html).toContain(`<code>${name}</code>`);
      }
    }
  });

  it.each(LANGUAGES)(
    "the page of a signed call has its fields, its answer, and each refusal with cause and cure, in %s",
    (language) => {
      const { t } = SITE[language].texts;
      for (const { operation, documentation } of DOCUMENTED) {
        const html = page(`/docs/${language === "zh" ? "zh/" : ""}reference/${operation.wireName}/`);
        const text = plainText(html);
        for (const field of ["appid", "timestamp", "ranstr", ...operation.fieldNames])
          expect(html).toContain(`<code>${field}</code>`);
        for (const code of ["x-chat-signature", "Idempotency-Key", "x-request-id"])
          expect(html).toContain(`<code>${code}</code>`);
        for (const { cause, cure } of Object.values(documentation.refusals)) {
          expect(text).toContain(t(cause).replaceAll("`", ""));
          expect(text).toContain(t(cure).replaceAll("`", ""));
        }
        for (const status of [400, 401, 413, 415, 422, 429, 500, 503]) expect(text).toContain(`${status} `);
      }
    },
  );

  it("the page of a call shows only the causes that this call can have", () => {
    const create = plainText(page("/docs/reference/create_gd/"));
    expect(create).not.toContain("None of the agents in kefu_ids");
    expect(plainText(page("/docs/reference/add_kf/"))).toContain("None of the agents in kefu_ids");
  });

  it("the page of a call shows the request on the wire, with a sample for each part of its path", () => {
    const html = page("/docs/reference/createSite/");
    expect(plainText(html)).toContain(
      'POST /admin/sites Authorization: Bearer … Content-Type: application/json { "name": "Shop"',
    );
  });
});

describe("the page of errors", () => {
  it.each(LANGUAGES)(
    "the page of errors has each refusal under its code, with status, message, causes and cures, in %s",
    (language) => {
      const html = page(`/docs/${language === "zh" ? "zh/" : ""}errors/`);
      const { t } = SITE[language].texts;
      for (const [code, { status, message }] of Object.entries(WIRE_ERRORS)) {
        const [, rest = ""] = html.split(`<h3 id="${code}">`);
        const [section = ""] = rest.split("</section>");
        expect(plainText(section)).toContain(`${status} ${message}`);
        for (const { cause, cure } of FAILURES[code as keyof typeof FAILURES].causes) {
          expect(plainText(section)).toContain(t(cause).replaceAll("`", ""));
          expect(plainText(section)).toContain(t(cure).replaceAll("`", ""));
        }
      }
    },
  );
});
