/** A path of the console, whatever was asked for: no form leads out of it, and none to signing out. */
export function consolePath(path: string | undefined, otherwise = "/console"): string {
  return path !== undefined && /^\/console(?!\/sign-out\b)(?:\/[\w-]+)*(?:\?[!-~]*)?$/.test(path) ? path : otherwise;
}

/** A path and query with a parameter set, or taken away. */
export function withParameter(path: string, name: string, value?: string): string {
  const url = new URL(path, "https://console");
  if (value === undefined) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url.pathname + url.search;
}
