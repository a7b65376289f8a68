import type { Page } from "playwright-core";

/**
 * Waits until the page has its final look: it is loaded, style sheets and fonts are applied, and transitions are over. A click
 * waits only until the next page begins, so a test of the look must call this first.
 *
 * @throws Error naming a style sheet that did not load
 */
export async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("load");
  // evaluate() takes a text here. waitForFunction() would need eval, which the pages' policy forbids.
  const missing = await page.evaluate<string[]>(`(async () => {
    await document.fonts.ready;
    await Promise.allSettled(document.getAnimations().map(({ finished }) => finished));
    const sheets = [...document.querySelectorAll("link[rel~=stylesheet]")];
    // A style sheet that failed is listed too, but has no readable rules.
    const isApplied = ({ sheet }) => { try { return sheet.cssRules.length > 0 } catch { return false } };
    return sheets.filter((link) => !isApplied(link)).map(({ href }) => href);
  })()`);
  if (missing.length > 0) throw new Error(`${page.url()} is without its style: ${missing.join(", ")} did not come`);
}
