import type { ResultsOf } from "./bench-part.ts";
import type { ProductionBundle } from "./production-bundle.ts";

/** The size of the upload of `wrangler deploy`. The platform's limit is 64 MiB minified. */
export async function measureSize({ bytes, gzipBytes }: ProductionBundle): Promise<ResultsOf<"size">> {
  const kib = (size: number) => ({ value: Number((size / 1024).toFixed(1)) });
  return { "size.minified": kib(bytes), "size.gzipped": kib(gzipBytes) };
}
