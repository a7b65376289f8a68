import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** Folders that a checkout does not need, or must not share. */
const LEFT_OUT = ["node_modules", "coverage", "dist", "test", ".git", ".wrangler", ".dev.vars"];

/**
 * Copies the project, for commands that change its files. The copy has only one home.
 *
 * @param builds whether wrangler builds the docs in each run, which takes longer than the rest of the run
 */
export function makeCheckout(folder: string, builds = false): void {
  cpSync(ROOT, folder, { recursive: true, filter: (path) => !LEFT_OUT.includes(basename(path)) });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const config = join(folder, "wrangler.toml");
  writeFileSync(config, withOneHome(readFileSync(config, "utf8"), builds));
}

function withOneHome(toml: string, builds: boolean): string {
  const tables = toml.split(/^(?=\[)/m);
  const isHome = (table: string) => /^\[\[.*d1_databases\]\]/.test(table) && /^binding\s*=\s*"HOME_/m.test(table);
  return tables.filter((table) => !isHome(table) && (builds || !table.startsWith("[build]"))).join("");
}
