import type { Handler } from "hono";
import type { App } from "../../core/http/request-context.ts";

/**
 * Answers GET /docs/… when no file has this path: 404 with a page of the docs in the language of the path. When that page is missing too,
 * the answer is the 404 of any other path.
 */
export function docsNotFound(): Handler<App> {
  return async function notFoundInDocs(c) {
    const folder = /^\/docs\/zh(?:\/|$)/.test(c.req.path) ? "/docs/zh" : "/docs";
    const page = await c.env.ASSETS?.fetch(new URL(`${folder}/not-found/`, c.req.url)).catch(() => undefined);
    if (page?.ok !== true) return c.notFound();
    c.var.trace.reason = "route_not_found";
    // The answer keeps the headers of the page, its policy among them. The ETag is removed, because it belongs to another address.
    const headers = new Headers(page.headers);
    headers.delete("etag");
    return c.body(await page.text(), 404, Object.fromEntries(headers));
  };
}
