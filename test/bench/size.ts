import type { ResultsOf } from "./part.ts";
import type { ProductionBundle } from "./production-bundle.ts";

/** The upload of `wrangler deploy`. The platform's limit, 64 MiB minified, is far away. */
export async function measureSize({ bytes, gzipBytes }: ProductionBundle): Promise<ResultsOf<"size">> {
  const kib = (size: number) => ({ value: Number((size / 1024).toFixed(1)) });
  return { "size.minified": kib(bytes), "size.gzipped": kib(gzipBytes) };
}
