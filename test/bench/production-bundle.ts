import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

export const ROOT = join(import.meta.dirname, "../..");

/** What `wrangler deploy` would upload. */
export interface ProductionBundle {
  code: string;
  /** Of wrangler.toml. */
  compatibilityDate: string;
  vars: Record<string, string>;
  bytes: number;
  gzipBytes: number;
}

/** Bundles and minifies the Worker as `wrangler deploy` does, without deploying it. */
export function buildProductionBundle(): ProductionBundle {
  const folder = mkdtempSync(join(tmpdir(), "agent-session-bench-"));
  try {
    const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
    const args = [wrangler, "deploy", "--dry-run", "--env", "", "--outdir", folder];
    const run = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
    if (run.status !== 0) throw new Error(`wrangler deploy --dry-run failed:\n${run.stdout}${run.stderr}`);
    const others = readdirSync(folder).filter((name) => !["index.js", "index.js.map", "README.md"].includes(name));
    if (others.length > 0) throw new Error(`the bench knows only a Worker of one module, not ${others.join(", ")}`);
    const code = readFileSync(join(folder, "index.js"), "utf8");
    return {
      code,
      ...settings(),
      bytes: Buffer.byteLength(code),
      gzipBytes: gzipSync(code, { level: 9 }).length,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The two things of wrangler.toml that a run needs; not worth a TOML parser. */
function settings(): Pick<ProductionBundle, "compatibilityDate" | "vars"> {
  const toml = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const compatibilityDate = /^compatibility_date = "(.+)"$/m.exec(toml)?.[1];
  if (compatibilityDate === undefined) throw new Error("wrangler.toml has no compatibility_date");
  const section = /^\[vars\]\n([\s\S]*?)\n\[/m.exec(toml)?.[1] ?? "";
  const vars = Object.fromEntries([...section.matchAll(/^(\w+) = "(.*)"$/gm)].map(([, name, value]) => [name, value]));
  return { compatibilityDate, vars };
}
