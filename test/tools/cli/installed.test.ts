import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { run } from "../../support/run-cli.ts";

const CHECK = "src/tools/cli/installed.mjs";
const CURE = "Run: npm ci --ignore-scripts=false\n";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "half-installed-"));
  cpSync(join(import.meta.dirname, "../../..", CHECK), join(folder, CHECK), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...manifest, workspaces: undefined }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const make = (path: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), "{}");
};

/** The nodes of the machine itself, which may be older than the scripts' node. */
const OLD = ["/usr/bin/node", "/usr/local/bin/node"].filter(existsSync);

it("an npm script says, before any other error, what an incomplete installation lacks and how to complete it", async () => {
  for (const script of ["start", "test"]) {
    const { exitCode, stderr } = await run("npm", ["run", "--silent", script], { cwd: folder });
    expect([exitCode, stderr]).toEqual([
      1,
      `This installation is not complete: node_modules is not there, or not whole. ${CURE}`,
    ]);
  }
  make("node_modules/.package-lock.json");
  for (const node of OLD) {
    const version = (await run(node, ["-p", "process.versions.node"])).stdout.trim();
    if (Number.parseInt(version, 10) >= 24) continue;
    const { exitCode, stderr } = await run(node, [CHECK], { cwd: folder });
    expect([exitCode, stderr]).toEqual([
      1,
      `This installation is not complete: node 24 is not in node_modules, and node ${version} is too old. ${CURE}`,
    ]);
  }
  const incomplete = await run(process.execPath, [CHECK], { cwd: folder });
  expect([incomplete.exitCode, incomplete.stderr]).toEqual([1, expect.stringContaining("that `npm ci` makes")]);
  make("src/assets/openapi.json");
  expect(await run(process.execPath, [CHECK], { cwd: folder })).toEqual({ exitCode: 0, stdout: "", stderr: "" });
});

it("each npm script that a newcomer runs checks the installation first", () => {
  const scripts = Object.entries(manifest.scripts).filter(([name]) =>
    /^(start|demo|call|deploy|secrets|build:client|check|test.*)$/.test(name),
  );
  expect(scripts.length).toBeGreaterThan(10);
  for (const [name, script] of scripts)
    expect([name, script]).toEqual([name, expect.stringMatching(`^node ${CHECK} && `)]);
});
