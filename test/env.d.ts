declare namespace Cloudflare {
  interface Env {
    MIGRATIONS: import("@cloudflare/vitest-pool-workers").D1Migration[];
  }
}
