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
/** A pale text that is unreadable until its style sheet, at the address `sheet`, applies. */
const pale = (sheet: string) =>
  `<!doctype html><html lang="en"><head><title>Pale</title><link rel="stylesheet" href="${sheet}"></head>
   <body><main><h1 style="color:#ddd">Pale</h1></main></body></html>`;

/** A page with a link to the pale one, whose style sheet arrives when the test says so. */
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

it("axe looks at the next page only after its style sheet has arrived", async () => {
  let come = async () => {};
  const page = await beforeThePalePage((arrive) => {
    come = arrive;
  });
  await page.getByRole("link").click();
  await page.locator("h1").waitFor({ state: "attached" });
  const found = violations(page);
  // The style sheet arrives only after axe would have had time to finish.
  setTimeout(() => void come(), 1_500);
  expect(await found).toEqual([]);
  await page.close();
});

it("a page whose style sheet never arrives is an error that names the sheet", async () => {
  const page = await browser.newPage();
  await page.route(`${HOST}/pale`, (route) => route.fulfill({ contentType: "text/html", body: pale("/gone.css") }));
  await page.route(`${HOST}/gone.css`, (route) => route.abort());
  await page.goto(`${HOST}/pale`);
  await expect(violations(page)).rejects.toThrow(`${HOST}/gone.css did not come`);
  await page.close();
});
