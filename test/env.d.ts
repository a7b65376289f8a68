declare namespace Cloudflare {
  interface Env {
    /** The tests' second home, beside DB. */
    HOME_APAC: D1Database;
    /** A database without tables. */
    UNMIGRATED: D1Database;
    MIGRATIONS: import("@cloudflare/vitest-pool-workers").D1Migration[];
  }
}

interface ImportMeta {
  /** Vite's: the texts of the matching files, by path. */
  glob(pattern: string | string[], options: { query: "?raw"; import: "default"; eager: true }): Record<string, string>;
  /** Vite's: the matching files as modules, by path. */
  glob(pattern: string | string[], options: { eager: true }): Record<string, object>;
  /** Vite's: functions that import the matching files, by path. */
  glob(pattern: string | string[]): Record<string, () => Promise<unknown>>;
}
