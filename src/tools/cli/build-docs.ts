import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { compileFunction } from "node:vm";
import { build } from "esbuild";

/**
 * Writes the files of `GET /openapi.json`, `/openapi.callers.json`, `/client.tgz`, `/docs/` and `/console/assets/` into src/assets. They are
 * made from the schemas that check requests, from src/client, docs/, src/tools/docs, and the console's styles and script. The same sources
 * give the same bytes. A file that is up to date is not written.
 */

/** Whether a file is the draft of a build that still runs. The name of a draft ends with its process id. */
function isDraft(file: string): boolean {
  const [, pid] = /\.(\d+)$/.exec(file) ?? [];
  try {
    return pid !== undefined && process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}

const assets = join(import.meta.dirname, "../../assets");

const files = await madeFiles();
for (const [path, content] of Object.entries(files)) write(join(assets, path), content);
for (const folder of ["docs", "console/assets"]) {
  for (const path of readdirSync(join(assets, folder), { recursive: true, withFileTypes: true })) {
    const file = join(path.parentPath, path.name);
    // Another build may run at the same time. Its drafts stay. `force` is set, because it may have removed an old file already.
    if (path.isFile() && !isDraft(file) && !(relative(assets, file) in files)) rmSync(file, { force: true });
  }
}

/** Node cannot run JSX, and loads hundreds of modules slowly. So esbuild joins them into one text, and node runs this text. */
async function madeFiles(): Promise<Record<string, string | Buffer>> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "asset-files.ts")],
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    external: ["esbuild"],
    // All modules that use it are in this folder.
    define: { "import.meta.dirname": JSON.stringify(import.meta.dirname) },
  });
  const module: { exports?: typeof import("./asset-files.ts") } = {};
  const run = compileFunction(outputFiles[0]?.text ?? "", ["module", "require"], { filename: "asset-files.cjs" });
  run(module, createRequire(import.meta.url));
  if (module.exports === undefined) throw new Error("The bundle exports nothing.");
  return module.exports.assetFiles();
}

/** Writes a new file and renames it, so that a server that reads at the same time never gets half a file. */
function write(path: string, content: string | Buffer): void {
  try {
    if (readFileSync(path).equals(Buffer.from(content))) return;
  } catch {
    mkdirSync(dirname(path), { recursive: true });
  }
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content);
  renameSync(draft, path);
}
