import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

// For tests only; npm start makes random ones. wrangler asks for them before miniflare gets them below.
const secrets = {
  MASTER_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  ADMIN_TOKEN: "test-admin-token-0123456789abcdef",
};
Object.assign(process.env, { WRANGLER_LOG: "warn", ...secrets });

export default defineConfig(async () => ({
  test: {
    silent: "passed-only" as const,
    projects: [
      {
        plugins: [
          cloudflareTest({
            main: "./src/index.ts",
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: { MIGRATIONS: await readD1Migrations("./migrations"), ...secrets },
            },
          }),
        ],
        test: {
          name: "workerd",
          include: ["test/**/*.test.ts"],
          exclude: ["**/node_modules/**", "test/e2e/**", "test/bench/**", "test/browser/**", "test/cli/**"],
          setupFiles: ["./test/support/apply-migrations.ts"],
        },
      },
      {
        test: {
          name: "node",
          include: ["test/{e2e,cli}/**/*.test.ts"],
          // The commands under test read what wrangler says.
          env: { WRANGLER_LOG: "log" },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
    coverage: {
      provider: "istanbul" as const,
      include: ["src/**/*.{ts,tsx}"],
      exclude: ["worker-configuration.d.ts", "src/cli/**", "src/openapi/**"],
      reporter: ["text", "html"],
      thresholds: { "src/{signing,replay,credentials,operations,pipeline,diagnosis}/**": { branches: 100 } },
    },
  },
}));
