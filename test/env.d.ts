declare namespace Cloudflare {
  interface Env {
    MIGRATIONS: import("@cloudflare/vitest-pool-workers").D1Migration[];
  }
}

interface ImportMeta {
  /** Vite's: the matching files' text by path. */
  glob(pattern: string | string[], options: { query: "?raw"; import: "default"; eager: true }): Record<string, string>;
}
