// The npm scripts begin with this file, which says what an incomplete installation lacks. It is JavaScript, because an old node must run it.
import { existsSync } from "node:fs";

const isThere = (path) => existsSync(new URL(`../../../${path}`, import.meta.url));

function missing() {
  if (!isThere("node_modules/.package-lock.json")) return "node_modules is not there, or not whole";
  // Only node 24.2 and later have import.meta.main. `npm ci` installs such a node by a script of the package `node`.
  if (import.meta.main === undefined)
    return `node 24 is not in node_modules, and node ${process.versions.node} is too old`;
  return isThere("src/assets/openapi.json") ? undefined : "files are not there that `npm ci` makes from src/ and docs/";
}

const lack = missing();
if (lack !== undefined) {
  console.error(`This installation is not complete: ${lack}. Run: npm ci --ignore-scripts=false`);
  process.exitCode = 1;
}
