/** A path of the console, or `otherwise` for any other text: a form must not lead to another site, nor sign the operator out. */
export function consolePath(path: string | undefined, otherwise = "/console"): string {
  return path !== undefined && /^\/console(?!\/sign-out\b)(?:\/[\w-]+)*(?:\?[!-~]*)?$/.test(path) ? path : otherwise;
}

/** A path and query with a parameter set, or removed when there is no value. */
export function withParameter(path: string, name: string, value?: string): string {
  const url = new URL(path, "https://console");
  if (value === undefined) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url.pathname + url.search;
}
