import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openBrowser } from "../support/open-browser.ts";
import { violations } from "../support/violations.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const HOST = "http://pages.example";
/** Cannot be read without its style sheet, which is at `sheet`. */
const pale = (sheet: string) =>
  `<!doctype html><html lang="en"><head><title>Pale</title><link rel="stylesheet" href="${sheet}"></head>
   <body><main><h1 style="color:#ddd">Pale</h1></main></body></html>`;

/** A page with a link to the pale one, whose style sheet comes when it is told to. */
async function beforeThePalePage(style: (come: () => Promise<void>) => void): Promise<Page> {
  const page = await browser.newPage();
  const html = (body: string) => ({ contentType: "text/html", body });
  await page.route(`${HOST}/`, (route) => route.fulfill(html('<!doctype html><a href="/pale">Pale</a>')));
  await page.route(`${HOST}/pale`, (route) => route.fulfill(html(pale("/slow.css"))));
  await page.route(`${HOST}/slow.css`, (route) =>
    style(() => route.fulfill({ contentType: "text/css", body: "h1 { color: #000 !important }" })),
  );
  await page.goto(`${HOST}/`);
  return page;
}

it("axe looks at a page that a link leads to only when its style sheet is there", async () => {
  let come = async () => {};
  const page = await beforeThePalePage((arrive) => {
    come = arrive;
  });
  await page.getByRole("link").click();
  await page.locator("h1").waitFor({ state: "attached" });
  const found = violations(page);
  // The style sheet comes only after axe had all the time that it needs.
  setTimeout(() => void come(), 1_500);
  expect(await found).toEqual([]);
  await page.close();
});

it("a page whose style sheet does not come is a fault with its name, not a look at a page without style", async () => {
  const page = await browser.newPage();
  await page.route(`${HOST}/pale`, (route) => route.fulfill({ contentType: "text/html", body: pale("/gone.css") }));
  await page.route(`${HOST}/gone.css`, (route) => route.abort());
  await page.goto(`${HOST}/pale`);
  await expect(violations(page)).rejects.toThrow(`${HOST}/gone.css did not come`);
  await page.close();
});
