import type { Site } from "../services/sites.ts";

/** Returns the path when it is a page of the console, and `fallback` for any other path. A form must not lead to another website or to the sign-out. */
export function consolePath(path: string | undefined, fallback = "/console"): string {
  return path !== undefined && /^\/console(?!\/sign-out\b)(?:\/[\w-]+)*(?:\?[!-~]*)?$/.test(path) ? path : fallback;
}

/** A path and query with a parameter set. Without a value, the parameter is removed. */
export function withParameter(path: string, name: string, value?: string): string {
  const url = new URL(path, "https://console");
  if (value === undefined) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url.pathname + url.search;
}

/** The path of a page of a site. @param page its path below the site's own, such as `/settings`; by default the overview */
export const sitePath = ({ id }: Pick<Site, "id">, page = ""): string => `/console/sites/${id}${page}`;

/**
 * The address of a page of the docs in the reader's language.
 *
 * @param page its address after `/docs/`, which may end in an anchor: `integrating#sign`. Anchors are the same in both languages
 * @param examples what the examples of the docs show instead of values of their own
 */
export function docsPath(
  { language }: { language: string },
  page = "",
  examples: { appid?: string | undefined; agentId?: number | undefined } = {},
): string {
  const [path = "", anchor] = page.split("#");
  const address = `/docs/${language === "zh" ? "zh/" : ""}${path === "" ? "" : `${path}/`}`;
  const withApp = withParameter(address, "appid", examples.appid);
  const withAgent = withParameter(withApp, "agent", examples.agentId?.toString());
  return anchor === undefined ? withAgent : `${withAgent}#${anchor}`;
}
