import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, readText } from "./layered-styles.ts";
import { tarball } from "./tarball.ts";

interface Manifest {
  version: string;
  license: string;
  repository: { type: string; url: string };
}

/**
 * Makes a package of src/client/: ESM modules with types. The same sources give the same bytes.
 *
 * @throws Error with the compiler's output, when the client does not compile
 */
export function clientPackage(): { name: string; version: string; tarball: Buffer } {
  const { version, license, repository } = JSON.parse(readText("package.json")) as Manifest;
  const name = "@agent-session/client";
  const manifest = {
    name,
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
  };
  const files = {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    LICENSE: readText("LICENSE"),
    "README.md": withWholeLinks(readText("src/client/README.md"), repository.url),
    ...compileClient(),
  };
  return { name, version, tarball: tarball(files) };
}

/** The README's links to files of the repository, with the repository's address: the package does not have those files. */
const withWholeLinks = (readme: string, repository: string): string => {
  const address = repository.replace(/^git\+|\.git$/g, "");
  return readme.replaceAll("](../../", `](${address}/blob/main/`);
};

function compileClient(): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "client-"));
  try {
    const compiler = [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "src/client", "--outDir", folder];
    const { status, stdout, stderr } = spawnSync(process.execPath, compiler, { cwd: ROOT, encoding: "utf8" });
    if (status !== 0) throw new Error(`The client does not compile:\n${stdout}${stderr}`);
    const textOf = (file: string) => {
      const text = readFileSync(join(folder, file), "utf8");
      // The compiler rewrites the extensions of imports only in .js files.
      return file.endsWith(".d.ts") ? text.replace(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"') : text;
    };
    const names = readdirSync(folder).sort();
    return Object.fromEntries(names.map((file) => [file, textOf(file)]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
