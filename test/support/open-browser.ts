import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** Debian's Chromium, or the one that CHROMIUM names, without network access. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** A page of a new profile, signed in to the console. */
export async function signedInPage(
  browser: Browser,
  worker: { url: string; adminToken: string },
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ baseURL: worker.url, locale: "en-GB", viewport: DESKTOP, ...options });
  const page = await context.newPage();
  await page.goto("/console/sign-in");
  await page.locator("input[name=token]").fill(worker.adminToken);
  await page.locator("main button").click();
  await page.waitForURL("**/console");
  return page;
}
