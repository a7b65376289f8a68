import type { Page } from "playwright-core";

/**
 * Opens a page of the docs. Returns its errors, also the refusals of its policy, and each address that it requested. The icon is left
 * out, because a browser loads it at any time.
 */
export async function docsPage(page: Page, origin: string, path: string) {
  const complaints: string[] = [];
  const urls: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== `${origin}/docs/icon.svg`) urls.push(request.url());
    if (!request.url().startsWith(origin)) complaints.push(`asked for ${request.url()}`);
  });
  const answer = await page.goto(path);
  return { page, complaints, urls, headers: (await answer?.allHeaders()) ?? {} };
}
