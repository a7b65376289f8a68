/** `npm run build:client`: makes src/client/ a publishable ESM package with types. */

import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { command } from "./command.ts";
import type { Io } from "./io.ts";
import { readOptions, UsageError } from "./known-options.ts";

const USAGE = `npm run build:client -- [FOLDER]

Writes the package and its tarball, for npm publish or npm install, into FOLDER; without one into dist/client, which it clears
first. The path of the tarball is the last line.

  --help, -h   this`;

const OPTIONS = { help: { type: "boolean", short: "h" } } as const;

const root = join(import.meta.dirname, "../../..");
const source = join(root, "src/client");

interface Manifest {
  version: string;
  license: string;
  repository: { type: string; url: string };
}

export const main = command(import.meta, buildClient, "npm run build:client -- --help tells more.");

async function buildClient(args: string[], io: Io): Promise<number> {
  const { values, positionals } = readOptions("npm run build:client -- …", args, OPTIONS, {
    allowPositionals: true,
    env: io.env,
  });
  const [given, surplus] = positionals;
  if (surplus !== undefined) throw new UsageError(`One folder, please. Left over: ${surplus}`);
  if (values.help === true) {
    io.out(USAGE);
    return 0;
  }
  const target = given === undefined ? join(root, "dist/client") : resolve(given);

  // Only the default folder is emptied: a folder that the user names may hold other files.
  if (given === undefined) rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { status } = spawnSync(process.execPath, [compiler, "-p", source, "--outDir", target], { stdio: "inherit" });
  if (status !== 0) return status ?? 1;

  // The compiler rewrites the extensions of imports in .js files only, so the .d.ts files are rewritten here.
  for (const name of readdirSync(target).filter((file) => file.endsWith(".d.ts"))) {
    const types = readFileSync(join(target, name), "utf8");
    writeFileSync(join(target, name), types.replace(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"'));
  }

  const { version, license, repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const manifest = {
    name: "@agent-session/client",
    version,
    description:
      "Opens customer-support sessions on an agent-session service, adds agents to them (signed, retried, done once), and verifies its webhooks.",
    license,
    repository: { ...repository, directory: "src/client" },
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    exports: { ".": { types: "./client.d.ts", default: "./client.js" }, "./package.json": "./package.json" },
    types: "./client.d.ts",
    files: ["*.js", "*.d.ts"],
    // Without this, the registry takes a scoped package for a private one.
    publishConfig: { access: "public" },
  };
  writeFileSync(join(target, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(source, "README.md"), join(target, "README.md"));
  copyFileSync(join(root, "LICENSE"), join(target, "LICENSE"));

  execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", target], { cwd: target });
  const tarball = join(target, `agent-session-client-${version}.tgz`);
  io.out(`${manifest.name} ${version} is built. Publish it with: npm publish ${tarball}\n${tarball}`);
  return 0;
}
