import { defineConfig } from "vitest/config";

/** The console in a real browser: `npm run test:browser`. Needs Debian's chromium, or CHROMIUM names another one. */
export default defineConfig({
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
