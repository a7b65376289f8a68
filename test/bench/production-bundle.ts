import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

export const ROOT = join(import.meta.dirname, "../..");

/** What `wrangler deploy` would upload. */
export interface ProductionBundle {
  code: string;
  /** From wrangler.toml. */
  compatibilityDate: string;
  compatibilityFlags: string[];
  /** The queue's max_batch_size. */
  messagesAtOnce: number;
  vars: Record<string, string>;
  bytes: number;
  gzipBytes: number;
}

/** Bundles and minifies the Worker as `wrangler deploy` does, without deploying it. */
export function buildProductionBundle(): ProductionBundle {
  const code = bundle();
  return { code, ...settings(), bytes: Buffer.byteLength(code), gzipBytes: gzipSync(code, { level: 9 }).length };
}

/** A Worker of this folder that imports from src/, bundled and minified the same way. */
export const bundleBenchWorker = (name: string): string => bundle(join(import.meta.dirname, name));

function bundle(...script: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "agent-session-bench-"));
  try {
    const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
    const args = [wrangler, "deploy", ...script, "--dry-run", "--env", "", "--outdir", folder];
    const run = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
    if (run.status !== 0) throw new Error(`wrangler deploy --dry-run failed:\n${run.stdout}${run.stderr}`);
    const [module, ...others] = readdirSync(folder).filter((name) => !/\.map$|^README\.md$/.test(name));
    if (module === undefined || others.length > 0)
      throw new Error(`the bench knows only a Worker of one module, not ${others.join(", ")}`);
    return readFileSync(join(folder, module), "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads the few settings that a run needs from wrangler.toml. Regular expressions suffice for them, without a TOML parser. */
function settings(): Pick<ProductionBundle, "compatibilityDate" | "compatibilityFlags" | "messagesAtOnce" | "vars"> {
  const toml = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const compatibilityDate = /^compatibility_date = "(.+)"$/m.exec(toml)?.[1];
  if (compatibilityDate === undefined) throw new Error("wrangler.toml has no compatibility_date");
  const section = /^\[vars\]\n([\s\S]*?)\n\[/m.exec(toml)?.[1] ?? "";
  const vars = Object.fromEntries([...section.matchAll(/^(\w+) = "(.*)"$/gm)].map(([, name, value]) => [name, value]));
  const compatibilityFlags = JSON.parse(/^compatibility_flags = (\[.+\])$/m.exec(toml)?.[1] ?? "[]") as string[];
  const messagesAtOnce = Number(/^max_batch_size = (\d+)$/m.exec(toml)?.[1]);
  return { compatibilityDate, compatibilityFlags, messagesAtOnce, vars };
}
