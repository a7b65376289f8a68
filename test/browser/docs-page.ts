import type { Page } from "playwright-core";

/**
 * A page of the docs with what it complained of so far, its policy's refusals too, and every address that it asked for. Its icon is not
 * among them: a browser loads that at a time of its own.
 */
export async function docsPage(page: Page, origin: string, path: string) {
  const complaints: string[] = [];
  const asked: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== `${origin}/docs/icon.svg`) asked.push(request.url());
    if (!request.url().startsWith(origin)) complaints.push(`asked for ${request.url()}`);
  });
  const answer = await page.goto(path);
  return { page, complaints, asked, headers: (await answer?.allHeaders()) ?? {} };
}
