import type { Handler } from "hono";
import type { App } from "../../core/http/request-context.ts";

/**
 * GET /docs/…, which no file has answered: 404 with a page of the docs in the language of the address. Where that page is missing, the
 * 404 of any other path.
 */
export function docsNotFound(): Handler<App> {
  return async function notFoundInDocs(c) {
    const folder = /^\/docs\/zh(?:\/|$)/.test(c.req.path) ? "/docs/zh" : "/docs";
    const page = await c.env.ASSETS?.fetch(new URL(`${folder}/not-found/`, c.req.url)).catch(() => undefined);
    if (page?.ok !== true) return c.notFound();
    c.var.trace.reason = "route_not_found";
    // It keeps the headers of a file, its policy among them, but for the tag: that would be of another address.
    const headers = new Headers(page.headers);
    headers.delete("etag");
    return c.body(await page.text(), 404, Object.fromEntries(headers));
  };
}
