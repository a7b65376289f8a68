/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import type { Page } from "playwright-core";

/** What people do and read on a page. */

export const heading = (page: Page) => page.locator("h1").innerText();
export const status = (page: Page) => page.getByRole("status").first().innerText();
export const secretOn = (page: Page) => page.locator("#secret").innerText();

export const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
export const follow = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click();

/** Opens the form above a list. The form is already open when the list is empty. */
export async function unfold(page: Page, label: string): Promise<void> {
  if (await page.locator("details.fold[open]").count()) return;
  await page.locator("details.fold > summary", { hasText: label }).click();
}

/** Opens everything that is folded on a page, except menus, which would cover what is below them. */
export async function unfoldAll(page: Page): Promise<void> {
  await page.evaluate("for (const each of document.querySelectorAll('details:not(.menu)')) each.open = true");
}

/** The errors that the page and the browser report from now on. */
export function faultsOf(page: Page): string[] {
  const faults: string[] = [];
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(error.message));
  return faults;
}
