import { gzipSync } from "node:zlib";
import { describe, expect } from "vitest";
import { it } from "./it.ts";
import { PAGES } from "./pages.ts";

/** The most bytes on the wire, by kind of file. */
const MOST = { html: 10_000, css: 10_000, js: 3_000 };

const ASSETS = ["/console/assets/console-HASH.css", "/console/assets/console-HASH.js", "/console/icon.svg"];

const zippedSize = (content: Buffer | string) => gzipSync(content).length;
const withoutHash = (path: string) => path.replace(/-[0-9a-f]{10}\./, "-HASH.");

/** The addresses that a document makes a browser load at once, in a `src` or a `<link>`. */
const loadedBy = (html: string) =>
  [...html.matchAll(/<(?:link|script|img|iframe)[^>]* (?:src|href)="([^"]+)"/g)].map(([, address = ""]) => address);

describe("sizes", () => {
  it("a page is under 10 kB of HTML, also with 50 rows, and loads only one style, one script and one icon", async ({
    world,
    signedIn,
  }) => {
    const page = await signedIn(world.worker);
    const weights: [name: string, bytes: number][] = [];
    for (const { name, at } of PAGES) {
      const body = await (await page.request.get(at(world))).body();
      weights.push([name, zippedSize(body)]);
      expect([name, loadedBy(String(body)).map(withoutHash).sort()]).toEqual([name, ASSETS]);
    }
    weights.sort(([, a], [, b]) => b - a);
    console.log(weights.map(([name, bytes]) => `${bytes} ${name}`).join("\n"));
    expect(weights.filter(([, bytes]) => bytes >= MOST.html)).toEqual([]);
  });

  it("the style is under 10 kB and the script under 3 kB, and the browser keeps both for good", async ({
    world,
    signedIn,
  }) => {
    const page = await signedIn(world.worker);
    const urls: URL[] = [];
    page.on("request", (request) => urls.push(new URL(request.url())));
    await page.goto(`${world.sites.busy}/sessions`, { waitUntil: "networkidle" });
    const [css = "", js = ""] = urls.map(({ pathname }) => pathname).filter((path) => path.includes("/assets/"));
    const others = urls.filter(({ pathname }) => ![css, js].includes(pathname));
    expect(others.map(({ origin }) => origin)).toEqual(others.map(() => world.worker.url));
    expect([css, js].map(withoutHash)).toEqual(ASSETS.slice(0, 2));
    for (const [path, most] of [
      [css, MOST.css],
      [js, MOST.js],
    ] as const) {
      const answer = await page.request.get(path);
      expect([path, answer.headers()["cache-control"]]).toEqual([path, expect.stringContaining("immutable")]);
      const bytes = zippedSize(await answer.body());
      console.log(`${bytes} ${withoutHash(path)}`);
      expect(bytes).toBeLessThan(most);
    }
  });
});
