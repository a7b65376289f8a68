import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ACCEPTED_VECTOR, DOCUMENTED_VECTOR } from "../../src/tools/openapi/signature-vectors.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";

const root = join(import.meta.dirname, "../..");
const assets = join(root, "src/assets");
const EXAMPLES = readdirSync(join(root, "src/client/examples"));

let worker: BuiltWorker;
const build = () => execFileSync(process.execPath, ["src/tools/cli/build-docs.ts"], { cwd: root });

beforeAll(async () => {
  build();
  worker = await startBuiltWorker();
});
afterAll(() => worker.close());

const get = (path: string) => fetch(new URL(path, worker.url), { redirect: "manual" });

const page = async (path: string) => {
  const answer = await get(path);
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};

describe("building", () => {
  const contents = () =>
    readdirSync(join(assets, "docs"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .concat(["openapi.json", "openapi.callers.json", "client.tgz"].map((file) => join(assets, file)))
      .sort()
      .map((path) => [path, readFileSync(path, "latin1")]);

  test("a second build of the docs gives the same files", () => {
    const first = contents();
    build();
    expect(contents()).toEqual(first);
  });

  test("the served openapi.json and openapi.callers.json are those that the code makes", async () => {
    const { openApiDocument } = await import("../../src/tools/openapi/document.ts");
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    expect(await (await get("/openapi.json")).json()).toEqual(JSON.parse(JSON.stringify(openApiDocument(version))));
    const { callersDocument } = await import("../../src/tools/openapi/callers-document.ts");
    expect(await (await get("/openapi.callers.json")).json()).toEqual(callersDocument(version));
  });
});

describe("serving", () => {
  test("GET / redirects to the docs", async () => {
    const home = await get("/");
    expect([home.status, home.headers.get("location")]).toEqual([302, "/docs/"]);
    const short = await get("/docs");
    expect([short.status, short.headers.get("location")]).toEqual([307, "/docs/"]);
  });

  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "%s / is answered with 404, and the same method on a file with 405",
    async (method) => {
      const sent = (path: string) => fetch(new URL(path, worker.url), { method, redirect: "manual" });
      const root = await sent("/");
      expect([root.status, await root.json()]).toEqual([404, { code: -1, msg: "接口不存在", data: "" }]);
      for (const path of ["/docs/", "/docs", "/docs/check/check.js", "/openapi.json", "/console/icon.svg"]) {
        const { status, headers } = await sent(path);
        expect([path, status, headers.get("allow")]).toEqual([path, 405, "GET, HEAD"]);
      }
    },
  );

  test("openapi.json and the page of errors say which of their limits operators can change", async () => {
    // Programs are removed, because the limits in a receiver are its own.
    const page = (await (await get("/docs/errors/")).text()).replaceAll(/<pre.*?<\/pre>|<code>.*?<\/code>/gs, "");
    const errors = page.replaceAll(/<\/?(?:td|p|tr|h3)\b[^>]*>/g, ". ").replaceAll(/<[^>]+>/g, "");
    const document = JSON.stringify(await (await get("/openapi.json")).json());
    const sentences = [errors, document].flatMap((text) => text.split(/[.;"] |\n\n|","/));
    // 300 s is the tolerance, and 300 and 1,000 requests are limits of an address and an app. One example of an answer has the 300 too.
    const settable = sentences.filter(
      (sentence) => /\b(300|1,000)\b/.test(sentence) && !sentence.includes("clock, which stood at"),
    );
    expect(settable.length).toBeGreaterThan(3);
    expect(settable.filter((sentence) => !sentence.includes("unless the operator set"))).toEqual([]);
  });

  test.each(["/openapi.json", "/openapi.callers.json"])("%s is JSON that any origin may read", async (path) => {
    const { status, headers } = await get(path);
    expect([status, headers.get("content-type"), headers.get("access-control-allow-origin")]).toEqual([
      200,
      "application/json",
      "*",
    ]);
  });

  test.each(["/docs/index.md", "/docs/zh/integrating.md", "/docs/reference/create_gd.md"])(
    "%s is Markdown in UTF-8",
    async (path) => {
      const { status, headers, text } = await page(path);
      expect([status, headers.get("content-type"), text[0]]).toEqual([200, "text/markdown; charset=utf-8", "#"]);
    },
  );

  test("npm can install client.tgz, and asks for it again by its ETag", async () => {
    const { status, headers } = await get("/client.tgz");
    expect([status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
      200,
      "application/gzip",
      "public, max-age=0, must-revalidate",
    ]);
    const again = { headers: { "if-none-match": String(headers.get("etag")) } };
    expect((await fetch(new URL("/client.tgz", worker.url), again)).status).toBe(304);
  });

  test.each(["/docs/check/", "/docs/check", "/docs/check/check.js", "/docs/zh/check/"])(
    "the check page %s has one policy, which lets nothing leave the page",
    async (path) => {
      const { headers } = await get(path);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy.match(/default-src/g)).toHaveLength(1);
      expect(policy).toContain("connect-src 'none';");
      expect(policy).toContain("form-action 'none';");
      expect(policy).not.toMatch(/,|unsafe|https?:|\*/);
      expect(headers.get("referrer-policy")).toBe("no-referrer");
    },
  );

  test.each([
    "/docs/",
    "/docs/zh/",
    "/docs/integrating/",
    "/docs/zh/reference/create_gd/",
    "/docs/check/",
    "/docs/zh/check/",
  ])("the page %s is HTML under a policy that allows nothing inline and nothing foreign", async (path) => {
    const { status, headers } = await get(path);
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'; style-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("each page loads one style and at most two scripts, all from its own origin, and runs no inline script", async () => {
    const there = new Set<string>();
    for (const [path, html] of pages()) {
      const urls = [...html.matchAll(/<(?:link(?! rel="alternate")|script|img)[^>]*\b(?:href|src)="([^"]+)"/g)].map(
        ([, url = ""]) => url,
      );
      expect([path, urls.filter((url) => url.endsWith(".css")).length]).toEqual([path, 1]);
      expect(urls.filter((url) => url.endsWith(".js")).length).toBeLessThanOrEqual(2);
      for (const url of urls) there.add(url);
      expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle="|\bon\w+="/);
    }
    for (const url of there) expect([url, (await get(url)).status]).toEqual([url, 200]);
  });

  test("a page is below 60 kB on the wire with all that it loads, and so is the search with its index", () => {
    const zipped = (path: string) => gzipSync(readFileSync(join(assets, path))).length;
    const loaded = (html: string) =>
      [...html.matchAll(/(?:<link rel="stylesheet" href|<script[^>]* src|data-index)="\/([^"]+)"/g)].map(
        ([, path = ""]) => path,
      );
    const weights = pages().map(([path, html]): [path: string, bytes: number] => [
      path,
      [path, ...loaded(html)].reduce((sum, each) => sum + zipped(each), 0),
    ]);
    // The check page holds all rules of the service, because it may load nothing.
    const isCheck = ([path]: [string, number]) => path.endsWith("check/index.html");
    expect(weights.filter((weight) => !isCheck(weight) && weight[1] >= 60_000)).toEqual([]);
    expect(weights.filter((weight) => isCheck(weight) && weight[1] >= 70_000)).toEqual([]);
    expect(weights.length).toBeGreaterThan(130);
  });

  test("browsers may cache a file with a digest in its name for ever, and must ask for pages again", async () => {
    const [, css = ""] = /<link rel="stylesheet" href="([^"]+)"/.exec(await (await get("/docs/")).text()) ?? [];
    expect((await get(css)).headers.get("cache-control")).toContain("immutable");
    expect((await get("/docs/")).headers.get("cache-control")).not.toContain("immutable");
  });

  test.each([
    ["/docs/nothing", "en", "Page not found", "/docs/"],
    ["/docs/reference/create_gd/more/?q=1", "en", "Page not found", "/docs/"],
    ["/docs/zh/nothing/", "zh-CN", "找不到页面", "/docs/zh/"],
    ["/docs/zhnothing", "en", "Page not found", "/docs/"],
  ])(
    "an unknown address such as %s gives a page in the reader's language that says so, under the same policy",
    async (path, tag, title, home) => {
      const { status, headers, text } = await page(path);
      expect([status, headers.get("content-type"), headers.get("etag")]).toEqual([
        404,
        "text/html; charset=utf-8",
        null,
      ]);
      expect(headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
      expect(text).toContain(`<html lang="${tag}">`);
      expect(text).toMatch(new RegExp(`<h1[^>]*>${title}</h1>`));
      expect(text).toContain(`<a href="${home}">`);
    },
  );

  test("the Worker still answers paths that are not files", async () => {
    for (const [path, method] of [
      ["/nothing", "GET"],
      ["/docsnothing", "GET"],
      ["/docs/nothing", "POST"],
    ] as const) {
      const nothing = await fetch(new URL(path, worker.url), { method });
      expect([nothing.status, await nothing.json()]).toEqual([404, { code: -1, msg: "接口不存在", data: "" }]);
    }
    expect((await get("/openapi/chat/create_gd")).status).toBe(405);
  });
});

describe("the programs", () => {
  test.each(EXAMPLES)(
    "the program %s is shown whole with its pitfalls, and its file can be downloaded",
    async (file) => {
      const source = readFileSync(join(root, "src/client/examples", file), "utf8");
      const answer = await get(`/docs/examples/${file}`);
      expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(await answer.text()).toBe(source);
      const page = /^create/i.test(file) ? "integrating" : "receiving";
      for (const folder of ["/docs/", "/docs/zh/"]) {
        const html = await (await get(`${folder}${page}/`)).text();
        expect(textOf(html)).toContain(source.trimEnd());
        expect(html).toContain(`href="/docs/examples/${file}"`);
      }
      expect(source).toContain("Pitfalls of ");
    },
  );

  test("the signature vectors are on the page of the programs", async () => {
    for (const folder of ["/docs/", "/docs/zh/"]) {
      const text = textOf(await (await get(`${folder}integrating/`)).text());
      for (const { body, signature } of [ACCEPTED_VECTOR, DOCUMENTED_VECTOR]) {
        expect(text).toContain(body);
        expect(text).toContain(signature);
      }
    }
  });
});

/** All built pages of the docs: their path from src/assets, and their text. */
const pages = (): [path: string, html: string][] =>
  readdirSync(join(assets, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".html"))
    .map((path) => [`docs/${path}`, readFileSync(join(assets, "docs", path), "utf8")]);

const textOf = (html: string) =>
  html.replace(/<[^>]+>/g, "").replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
