import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "../..");

/** A change of a source file: `find` must occur in the file exactly once. */
export interface Edit {
  /** Relative to the root of the repository. */
  file: string;
  find: string;
  replace: string;
}

/**
 * The code that the simulation runs, each part as the body of a function that returns its exports: the Worker as
 * deployed, and the client as callers install it.
 */
export interface Code {
  worker: string;
  client: string;
}

/**
 * Numbers of the Worker that no run would reach, lowered in its bundle. The checker knows the lower ones. So the ends
 * of chunks and steps show.
 */
const LOWERED: readonly Edit[] = [
  {
    file: "src/store/home/webhooks.ts",
    find: "export const MOST_ENDED = 5_000;",
    replace: "export const MOST_ENDED = 6;",
  },
  { file: "src/store/home/redeliveries.ts", find: "const MOST_READ = 5_000;", replace: "const MOST_READ = 12;" },
  {
    file: "src/store/home/redeliveries.ts",
    find: "export const DUE_PER_SECOND = 500;",
    replace: "export const DUE_PER_SECOND = 5;",
  },
  {
    file: "src/store/home/erase-step.ts",
    find: "export const SESSIONS_PER_STEP = 250;",
    replace: "export const SESSIONS_PER_STEP = 2;",
  },
  {
    file: "src/services/erase-customer.ts",
    find: "export const CHAT_IDS_PER_PART = 10_000;",
    replace: "export const CHAT_IDS_PER_PART = 3;",
  },
  {
    file: "src/services/customers.ts",
    find: "export const SESSIONS_PER_PAGE = 50;",
    replace: "export const SESSIONS_PER_PAGE = 3;",
  },
  { file: "src/store/home/refusals.ts", find: "const MOST_READ = 10_000;", replace: "const MOST_READ = 24;" },
  { file: "src/services/usage.ts", find: "const MOST_ITEMS = 10_000;", replace: "const MOST_ITEMS = 30;" },
  // A day of usage is two hours, so that hours become days in the end of each run, and days go in runs of weeks.
  { file: "src/store/prune-usage.ts", find: "const DAY = 86_400;", replace: "const DAY = 7_200;" },
  { file: "src/store/home/usage.ts", find: "const DAY = 86_400;", replace: "const DAY = 7_200;" },
  {
    file: "src/store/prune-usage.ts",
    find: "export const HOURS_KEPT_DAYS = 14;",
    replace: "export const HOURS_KEPT_DAYS = 1;",
  },
  { file: "src/store/prune-usage.ts", find: "export const DAYS_KEPT = 400;", replace: "export const DAYS_KEPT = 30;" },
  { file: "src/store/prune-usage.ts", find: "const SITES_PER_CHUNK = 10;", replace: "const SITES_PER_CHUNK = 2;" },
  {
    file: "src/store/directory/metrics.ts",
    find: "const CHARACTERS_PER_STATEMENT = 400_000;",
    replace: "const CHARACTERS_PER_STATEMENT = 300;",
  },
  // A day of retention is five seconds, because most runs last for a minute.
  { file: "src/store/prune-sessions.ts", find: "const DAY = 86_400;", replace: "const DAY = 5;" },
  { file: "src/services/sites.ts", find: "ctx.now - asked * 86_400 + 1;", replace: "ctx.now - asked * 5 + 1;" },
  {
    file: "src/store/home/old-sessions.ts",
    find: "export const SESSIONS_PER_BATCH = 200;",
    replace: "export const SESSIONS_PER_BATCH = 12;",
  },
  {
    file: "src/store/home/old-sessions.ts",
    find: "const MOST_ROWS = 1_000;",
    replace: "const MOST_ROWS = 15;",
  },
  {
    file: "src/store/prune-deleted-sites.ts",
    find: "const ROWS_PER_STATEMENT = 1_000;",
    replace: "const ROWS_PER_STATEMENT = 40;",
  },
];

/**
 * Bundles the Worker and the client from the current checkout.
 *
 * @param edits defects to plant
 * @throws Error when an edit does not fit its file
 */
export async function bundle(edits: readonly Edit[] = []): Promise<Code> {
  const planted = new Map<string, string>();
  for (const { file, find, replace } of [...LOWERED, ...edits]) {
    const text = planted.get(file) ?? readFileSync(join(ROOT, file), "utf8");
    if (text.split(find).length !== 2) throw new Error(`${file} must hold this exactly once: ${find}`);
    planted.set(
      file,
      text.replace(find, () => replace),
    );
  }
  const [worker, client] = await Promise.all([
    bundleOf(`export { createWorker } from "./src/worker.ts";`, planted),
    bundleOf(`export { AgentSessionClient, AgentSessionError, sign } from "./src/client/client.ts";`, planted),
  ]);
  return { worker, client };
}

async function bundleOf(entry: string, planted: ReadonlyMap<string, string>): Promise<string> {
  const result = await build({
    stdin: { contents: entry, resolveDir: ROOT, loader: "ts" },
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    format: "iife",
    globalName: "bundled",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "browser"],
    target: "es2024",
    logLevel: "silent",
    plugins: [
      {
        name: "planted-defects",
        setup({ onLoad }) {
          onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
            const contents = planted.get(relative(ROOT, path));
            return contents === undefined ? undefined : { contents, loader: path.endsWith("x") ? "tsx" : "ts" };
          });
        },
      },
    ],
  });
  return `${result.outputFiles[0]?.text}\nreturn bundled;`;
}
