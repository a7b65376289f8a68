/** `npm run build:client`: makes the client's tarball, which a deployment serves as `/client.tgz`. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { clientPackage } from "./client-package.ts";
import { command } from "./command.ts";
import type { Io } from "./io.ts";
import { readOptions, UsageError } from "./known-options.ts";

const USAGE = `npm run build:client -- [FOLDER]

Writes the client's tarball, for npm install, into FOLDER; without one into dist/client. The path of the tarball is the last line.
A deployment serves the same tarball as /client.tgz.

  --help, -h   this`;

const OPTIONS = { help: { type: "boolean", short: "h" } } as const;

export const main = command(import.meta, buildClient, "npm run build:client -- --help tells more.");

async function buildClient(args: string[], io: Io): Promise<number> {
  const { values, positionals } = readOptions("npm run build:client -- …", args, OPTIONS, {
    allowPositionals: true,
    env: io.env,
  });
  const [folder = join(io.root, "dist/client"), surplus] = positionals;
  if (surplus !== undefined) throw new UsageError(`One folder, please. Left over: ${surplus}`);
  if (values.help === true) {
    io.out(USAGE);
    return 0;
  }
  const { name, version, tarball } = clientPackage();
  const path = join(resolve(folder), `agent-session-client-${version}.tgz`);
  mkdirSync(resolve(folder), { recursive: true });
  writeFileSync(path, tarball);
  io.out(`${name} ${version} is built: ${tarball.length.toLocaleString("en")} bytes. It is in no registry. In your project, install this file:

  npm install ${path}

or that of a deployment: npm install https://your-server/client.tgz
${path}`);
  return 0;
}
