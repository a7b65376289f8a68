import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Tests the console in a real browser: `npm run test:browser`. It needs Debian's chromium-headless-shell, or another program in CHROMIUM. */
export default defineConfig({
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    // One process runs all files, so that they share one browser and one Worker: test/browser/it.ts. The tests of a file run side by side.
    isolate: false,
    maxWorkers: 1,
    sequence: { concurrent: true },
    maxConcurrency: availableParallelism(),
    env: { WRANGLER_LOG: "warn" },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
