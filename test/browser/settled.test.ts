import type { Page } from "playwright-core";
import { expect } from "vitest";
import { violations, violationsNow } from "../support/violations.ts";
import { it } from "./it.ts";

const SERVED = { url: "http://pages.example" };

/** A page with a text that is unreadable until its style sheet applies. */
const PALE_PAGE = `<!doctype html><html lang="en"><head><title>Pale</title><link rel="stylesheet" href="/style.css"></head>
  <body><main><h1 style="color:#ddd">Pale</h1></main></body></html>`;

async function servePale(page: Page): Promise<void> {
  await page.route("**/pale", (route) => route.fulfill({ contentType: "text/html", body: PALE_PAGE }));
}

it("axe looks at the next page only after its style sheet has arrived", async ({ open }) => {
  const page = await open(SERVED);
  await servePale(page);
  const link = '<!doctype html><a href="/pale">Pale</a>';
  await page.route("**/", (route) => route.fulfill({ contentType: "text/html", body: link }));
  let sendSheet = async () => {};
  await page.route("**/style.css", (route) => {
    sendSheet = () => route.fulfill({ contentType: "text/css", body: "h1 { color: #000 !important }" });
  });
  await page.goto("/");
  await page.getByRole("link").click();
  await page.locator("h1").waitFor({ state: "attached" });
  const findings = violations(page);
  // The style sheet arrives only after axe has had the time to finish.
  expect(await violationsNow(page)).toEqual([expect.stringContaining("color-contrast")]);
  await sendSheet();
  expect(await findings).toEqual([]);
});

it("a style sheet that never arrives is an error that names the sheet", async ({ open }) => {
  const page = await open(SERVED);
  await servePale(page);
  await page.route("**/style.css", (route) => route.abort());
  await page.goto("/pale");
  await expect(violations(page)).rejects.toThrow(`${SERVED.url}/style.css did not come`);
});
