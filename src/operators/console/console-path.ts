/** The path if it is one of the console, else `otherwise`: a form must not lead to another website, or to signing out. */
export function consolePath(path: string | undefined, otherwise = "/console"): string {
  return path !== undefined && /^\/console(?!\/sign-out\b)(?:\/[\w-]+)*(?:\?[!-~]*)?$/.test(path) ? path : otherwise;
}

/** A path and query with a parameter set, or without this parameter when there is no value. */
export function withParameter(path: string, name: string, value?: string): string {
  const url = new URL(path, "https://console");
  if (value === undefined) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url.pathname + url.search;
}
