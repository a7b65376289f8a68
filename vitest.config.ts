import { existsSync, statfsSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { resolve } from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { workerOptions } from "./test/support/worker-options.ts";

// Secrets for tests. They are set here, because wrangler asks for them before miniflare gets them below. npm start makes random secrets.
const secrets = {
  MASTER_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  ADMIN_TOKEN: "test-admin-token-0123456789abcdef",
};
Object.assign(process.env, { WRANGLER_LOG: "warn", ...secrets });

const disk = tmpdir();
process.env.TMPDIR = inMemory() ?? disk;

/** Tests of pure functions and of the client. They run in plain node, which starts much faster than workerd. */
const pure = [
  "test/{architecture,docs,docs-receiving,docs-zh,threat-model}.test.ts",
  "test/client/{sign,verify-event}.test.ts",
  "test/core/{homes,http/one-timer,credentials/look-up-turns}.test.ts",
  "test/core/operations/{auto-title,batch-text,lists}.test.ts",
  "test/core/signed/{check-freshness,fingerprint,nonce-memory}.test.ts",
  "test/events/{budget,url,schedule,health-of,post,failure-text}.test.ts",
  "test/operators/access/{fetch-certs,person-role,settings}.test.ts",
  "test/operators/console/pictures.test.ts",
  "test/operators/diagnosis/{check-bodies,check-form,check-timestamp,diagnose-signature}.test.ts",
  "test/operators/http/show.test.ts",
  "test/operators/journal/journal.test.ts",
  "test/operators/services/agent-list.test.ts",
  "test/simulation/**/*.test.ts",
  "test/tools/docs/**/*.test.ts",
  "test/tools/openapi/{callers-document,json-schema}.test.ts",
];
const processes = [
  "test/{e2e,tools/cli}/**/*.test.ts",
  "test/core/alone.test.ts",
  "test/operators/admin/lists.test.ts",
  "test/simulation/conformance/**/*.test.ts",
];
/** Tests that `npm test` and `npm run test:e2e` leave out, because they take long. The gate runs them in parts of their own. */
const seeds = "test/simulation/seeds.test.ts";
const recipes = "test/e2e/recipes.test.ts";

/** No limit is below 30 s, so that a busy machine fails no test: lint/short-time-limit.grit. */
const limits = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 45_000 } } };

export default defineConfig(async () => {
  const { bindings, ...worker } = await workerOptions();
  return {
    test: {
      silent: "passed-only" as const,
      // By default Vitest keeps one core for itself. More workers than cores would only start one more workerd, which imports everything.
      maxWorkers: availableParallelism(),
      projects: [
        {
          plugins: [
            cloudflareTest({
              // This is an empty Worker, because the tests make their own app, and each test file would load the real Worker.
              main: "./test/support/empty-worker.ts",
              miniflare: {
                ...worker,
                // Tests bind this database as a home that is not migrated.
                d1Databases: { ...worker.d1Databases, UNMIGRATED: { id: "UNMIGRATED" } },
                // A test that posts to a receiver puts its own in place of fetch: none reaches the network.
                outboundService: () => new Response("no network in tests", { status: 503 }),
                bindings: { ...bindings, MIGRATIONS: await readD1Migrations("./migrations"), ...secrets },
              },
            }),
          ],
          oxc: { jsx: { development: false } },
          test: {
            ...limits,
            name: "workerd",
            include: ["test/**/*.test.ts"],
            exclude: ["**/node_modules/**", "test/bench/**", "test/browser/**", ...pure, ...processes],
            setupFiles: ["./test/support/apply-migrations.ts"],
            // Many files share one workerd, because the start of a workerd takes longer than most files.
            isolate: false,
            deps: {
              optimizer: {
                ssr: {
                  // Each package becomes one file instead of hundreds.
                  enabled: true,
                  include: [
                    "@date-fns/tz",
                    "drizzle-orm",
                    "drizzle-orm/d1",
                    "drizzle-orm/sqlite-core",
                    "hono",
                    "hono/hono-base",
                    "hono/jsx",
                    "hono/jsx/jsx-runtime",
                    "hono/route",
                    "hono/router/trie-router",
                    "jose",
                    "zod/mini",
                  ],
                  rolldownOptions: { plugins: [withoutLocales] },
                },
              },
            },
          },
        },
        {
          // Node needs a flag for Uint8Array's toHex and fromBase64, which workerd has.
          test: {
            ...limits,
            name: "pure",
            include: pure,
            exclude: ["**/node_modules/**", seeds, ...processes],
            isolate: false,
            pool: "forks" as const,
            execArgv: ["--js-base-64"],
          },
        },
        {
          test: { ...limits, name: "seeds", include: [seeds], pool: "forks" as const, execArgv: ["--js-base-64"] },
        },
        {
          test: { ...limits, name: "recipes", include: [recipes] },
        },
        {
          test: {
            ...limits,
            testTimeout: 240_000,
            hookTimeout: 240_000,
            name: "node",
            // There is one worker more than cores, because these tests mostly wait for the commands that they start.
            maxWorkers: availableParallelism() + 1,
            sequence: { groupOrder: 1 },
            include: processes,
            exclude: ["**/node_modules/**", recipes],
            // The commands under test read wrangler's log. Each process loads ten megabytes of wrangler, and the cache holds their compiled code.
            env: { WRANGLER_LOG: "log", TMPDIR: disk, NODE_COMPILE_CACHE: resolve("node_modules/.cache/compiled") },
          },
        },
      ],
      coverage: {
        provider: "istanbul" as const,
        // Only folders with a threshold are measured, because measuring all of src/ would take a fifth of the time.
        include: ["src/{core/{signed,credentials,operations},operators/diagnosis}/**/*.ts"],
        reporter: ["text", "html"],
        thresholds: { "src/{core/{signed,credentials,operations},operators/diagnosis}/**": { branches: 100 } },
      },
    },
  };
});

/** Leaves out zod's messages in 60 languages. The Worker uses none of them, and they would be a large part of its code. */
const withoutLocales = {
  name: "without-locales",
  resolveId: (id: string) => (id === "../locales/index.js" ? "\0without-locales" : undefined),
  load: (id: string) => (id === "\0without-locales" ? "export {}" : undefined),
};

/** A folder in memory, on Linux with enough room. Tests query their databases thousands of times, and a query takes half as long there. */
function inMemory(): string | undefined {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return undefined;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 512 * 1024 ** 2 ? memory : undefined;
}
