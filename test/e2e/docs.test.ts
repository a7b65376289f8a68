import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WIRE_ERRORS } from "../../src/errors.ts";
import { ACCEPTED_VECTOR, DOCUMENTED_VECTOR } from "../../src/openapi/signature-vectors.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";

const root = join(import.meta.dirname, "../..");
const assets = join(root, "src/assets");
const EXAMPLES = readdirSync(join(root, "src/client/examples"));

let worker: BuiltWorker;
beforeAll(async () => {
  worker = await startBuiltWorker();
});
afterAll(() => worker.close());

const get = (path: string) => fetch(new URL(path, worker.url), { redirect: "manual" });

describe("building", () => {
  const contents = () =>
    readdirSync(join(assets, "docs"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .concat(join(assets, "openapi.json"))
      .sort()
      .map((path) => [path, readFileSync(path, "utf8")]);

  test("the same sources give the same files", () => {
    const build = () => execFileSync(process.execPath, ["src/cli/build-docs.ts"], { cwd: root });
    build();
    const first = contents();
    build();
    expect(contents()).toEqual(first);
  });

  test("the served files are those that the sources give", async () => {
    const { openApiDocument } = await import("../../src/openapi/document.ts");
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    expect(await (await get("/openapi.json")).json()).toEqual(JSON.parse(JSON.stringify(openApiDocument(version))));
  });
});

describe("serving", () => {
  test("GET / redirects to the guide", async () => {
    const home = await get("/");
    expect([home.status, home.headers.get("location")]).toEqual([302, "/docs/"]);
    const short = await get("/docs");
    expect([short.status, short.headers.get("location")]).toEqual([307, "/docs/"]);
  });

  test("names no limit that an operator can set without saying that it can be set", async () => {
    // Without programs: the limits in a receiver are the receiver's own.
    const guide = (await (await get("/docs/")).text()).replaceAll(/<pre.*?<\/pre>|<[^>]+>/gs, "");
    const document = JSON.stringify(await (await get("/openapi.json")).json());
    const sentences = [guide, document].flatMap((text) => text.split(/[.;"] |\n\n|","/));
    // 300 s is the tolerance; 300 and 1,000 requests are the limits of an address and an app.
    const settable = sentences.filter((sentence) => /\b(300|1,000)\b/.test(sentence));
    expect(settable.length).toBeGreaterThan(3);
    expect(settable.filter((sentence) => !sentence.includes("unless the operator set"))).toEqual([]);
  });

  test("openapi.json is JSON that any origin may read", async () => {
    const { status, headers } = await get("/openapi.json");
    expect([status, headers.get("content-type"), headers.get("access-control-allow-origin")]).toEqual([
      200,
      "application/json",
      "*",
    ]);
  });

  test.each(["/docs/check/", "/docs/check", "/docs/check/check.js", "/docs/zh/check/"])(
    "%s has one policy, which lets nothing leave the page",
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

  test.each(["/docs/", "/docs/reference/", "/docs/check/", "/docs/zh/check/"])(
    "%s is HTML under a policy that allows nothing inline or foreign",
    async (path) => {
      const { status, headers } = await get(path);
      expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    },
  );

  test("the pages load nothing from other origins, and every file that they load exists", async () => {
    for (const path of ["/docs/", "/docs/reference/", "/docs/check/", "/docs/zh/check/"]) {
      const html = await (await get(path)).text();
      const asked = [...html.matchAll(/<(?:link|script|img)[^>]*\b(?:href|src)="([^"]+)"/g)].map(
        ([, url]) => url ?? "",
      );
      expect(asked.length).toBeGreaterThan(2);
      for (const url of asked) expect([url, (await get(url)).status]).toEqual([url, 200]);
      expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle="|\bon\w+="/);
    }
    const redoc = await (await get("/docs/reference/redoc.js")).text();
    expect(redoc).not.toContain("cdn.redoc.ly");
  });

  test("the Worker still answers paths that are not files", async () => {
    const nothing = await get("/docs/nothing");
    expect([nothing.status, await nothing.json()]).toEqual([404, { code: -1, msg: "接口不存在", data: "" }]);
    expect((await get("/openapi/chat/create_gd")).status).toBe(405);
  });
});

describe("the guide", () => {
  let html: string;
  beforeAll(async () => {
    html = await (await get("/docs/")).text();
  });

  test.each(EXAMPLES)("shows %s whole, with its pitfalls, and offers the very file", async (file) => {
    const source = readFileSync(join(root, "src/client/examples", file), "utf8");
    const answer = await get(`/docs/examples/${file}`);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await answer.text()).toBe(source);
    expect(textOf(html)).toContain(source.trimEnd());
    expect(source).toContain("Pitfalls of ");
  });

  test("gives the signature vectors whole", () => {
    for (const { body, signature } of [ACCEPTED_VECTOR, DOCUMENTED_VECTOR]) {
      expect(textOf(html)).toContain(body);
      expect(textOf(html)).toContain(signature);
    }
  });

  test("names every refusal, with its message, status, cause and cure", () => {
    for (const [code, { status, message }] of Object.entries(WIRE_ERRORS)) {
      const [, section = ""] = html.split(`<section class="refusal" id="${code}">`);
      const text = textOf(section.split("</section>")[0] ?? "");
      expect(text).toContain(`${status} ${message}`);
      expect(section.split("</section>")[0]).toMatch(/<dt>.+<\/dt>\s*<dd>.+<\/dd>/);
    }
  });

  test("links only to places that exist", async () => {
    const ids = new Set([...html.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id));
    const links = [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, url]) => url ?? "");
    expect(links.length).toBeGreaterThan(20);
    for (const link of links) {
      if (link.startsWith("#")) expect(ids).toContain(link.slice(1));
      // The console redirects to its sign-in first.
      else expect([link, (await get(link)).status]).toEqual([link, link.startsWith("/console/") ? 303 : 200]);
    }
  });
});

const textOf = (html: string) =>
  html.replace(/<[^>]+>/g, "").replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
