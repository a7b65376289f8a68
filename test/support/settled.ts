import type { Page } from "playwright-core";

/**
 * Waits until the page looks as its author meant: read whole, its style sheets and fonts applied, its transitions over. A press of a
 * button or a link waits only until the next page begins, so whoever looks at how a page looks waits for this first.
 *
 * @throws Error naming a style sheet that did not come
 */
export async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("load");
  // As a text, and by evaluate(): waitForFunction() needs eval, which the pages' policy forbids.
  const missing = await page.evaluate<string[]>(`(async () => {
    await document.fonts.ready;
    await Promise.allSettled(document.getAnimations().map(({ finished }) => finished));
    const sheets = [...document.querySelectorAll("link[rel~=stylesheet]")];
    // One that failed is there, but has no rules that could be read.
    const isApplied = ({ sheet }) => { try { return sheet.cssRules.length > 0 } catch { return false } };
    return sheets.filter((link) => !isApplied(link)).map(({ href }) => href);
  })()`);
  if (missing.length > 0) throw new Error(`${page.url()} is without its style: ${missing.join(", ")} did not come`);
}
