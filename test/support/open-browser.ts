import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** Debian's `chromium-headless-shell`, or the program that CHROMIUM names. It opens a page in half the time that Chromium needs. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // The name desk.test leads to this machine, for tests that need a name other than localhost.
      "--host-resolver-rules=MAP desk.test 127.0.0.1",
    ],
  });
}

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** A page in a new profile, with this Worker's URL as its base. */
export async function newPage(
  browser: Browser,
  { url }: { url: string },
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ baseURL: url, locale: "en-GB", viewport: DESKTOP, ...options });
  // A busy machine may need longer than Playwright's half a minute.
  context.setDefaultTimeout(90_000);
  return context.newPage();
}

/** Fills in the form of the sign-in page, and waits for the console's first page. */
export async function signIn(page: Page, adminToken: string): Promise<void> {
  await page.goto("/console/sign-in");
  await page.locator("input[name=token]").fill(adminToken);
  await page.locator("main button").click();
  await page.waitForURL("**/console");
}
