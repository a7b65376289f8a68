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
 * Numbers of the Worker that are lowered in its bundle, because no run would reach the real ones. So a run meets the
 * ends of chunks and steps. The checker knows the lower numbers.
 */
const LOWERED = (
  [
    ["src/events/store/pending-deliveries.ts", "MOST_ENDED", "5_000", 6],
    ["src/operators/store/home/redeliver-many.ts", "MOST_READ", "5_000", 12],
    ["src/operators/store/home/redeliver-many.ts", "DUE_PER_SECOND", "500", 5],
    ["src/operators/store/home/erase-step.ts", "SESSIONS_PER_STEP", "250", 2],
    ["src/operators/services/erase-customer.ts", "CHAT_IDS_PER_PART", "10_000", 3],
    // A day of retention is five seconds, because most runs last for a minute.
    ["src/operators/store/pruning/prune-sessions.ts", "DAY", "86_400", 5],
    ["src/operators/store/home/old-sessions.ts", "SESSIONS_PER_BATCH", "200", 12],
    ["src/operators/store/home/old-sessions.ts", "MOST_ROWS", "1_000", 15],
    ["src/operators/store/pruning/prune-deleted-sites.ts", "ROWS_PER_STATEMENT", "1_000", 40],
  ] as const
).map(
  ([file, name, from, to]): Edit => ({ file, find: `const ${name} = ${from};`, replace: `const ${name} = ${to};` }),
);

/**
 * Bundles the Worker and the client from the current checkout.
 *
 * @param edits defects to plant
 * @throws Error when an edit does not fit its file
 */
export async function bundle(edits: readonly Edit[] = []): Promise<Code> {
  const newTexts = new Map<string, string>();
  for (const { file, find, replace } of [...LOWERED, ...edits]) {
    const around = (newTexts.get(file) ?? readFileSync(join(ROOT, file), "utf8")).split(find);
    if (around.length !== 2) throw new Error(`${file} must hold this exactly once: ${find}`);
    newTexts.set(file, around.join(replace));
  }
  const [worker, client] = await Promise.all([
    bundleOf(`export { createWorker } from "./src/worker.ts";`, newTexts),
    bundleOf(`export { AgentSessionClient, AgentSessionError, sign } from "./src/client/client.ts";`, newTexts),
  ]);
  return { worker, client };
}

async function bundleOf(entry: string, newTexts: ReadonlyMap<string, string>): Promise<string> {
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
            const contents = newTexts.get(relative(ROOT, path));
            return contents === undefined ? undefined : { contents, loader: path.endsWith("x") ? "tsx" : "ts" };
          });
        },
      },
    ],
  });
  return `${result.outputFiles[0]?.text}\nreturn bundled;`;
}
