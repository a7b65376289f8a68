/**
 * `npm run types`: writes worker-configuration.d.ts from wrangler.toml. Homes are left out: the Worker finds them by the prefix of their
 * bindings, and a new home must not change a generated file.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readOptions, UsageError } from "./known-options.ts";
import { PROJECT_ROOT, runWrangler } from "./run-wrangler.ts";
import { withoutFurtherHomes } from "./wrangler-toml.ts";

const USAGE = `npm run types -- [options]

  --check      writes nothing, and exits 1 when the file is not as wrangler.toml says
  --help, -h   this`;

const OPTIONS = { check: { type: "boolean" }, help: { type: "boolean", short: "h" } } as const;

const COMMAND = ["types", "--strict-vars=false"];
const TYPES = join(PROJECT_ROOT, "worker-configuration.d.ts");

try {
  process.exitCode = await types(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`${error.message}\n\nnpm run types -- --help tells more.`);
  process.exitCode = 2;
}

async function types(args: string[]): Promise<number> {
  const { check, help } = readOptions("npm run types -- …", args, OPTIONS).values;
  if (help === true) {
    console.log(USAGE);
    return 0;
  }
  const { experimental_readRawConfig } = await import("wrangler");
  const { rawConfig } = experimental_readRawConfig({ config: join(PROJECT_ROOT, "wrangler.toml") });
  // The copy is beside wrangler.toml, because its paths are relative. Its name has the process id, because two may run at once.
  const copy = `wrangler.types-${process.pid}.json`;
  writeFileSync(join(PROJECT_ROOT, copy), JSON.stringify(withoutFurtherHomes(rawConfig)));
  try {
    const { exitCode, output } = await runWrangler([
      ...COMMAND,
      ...(check === true ? ["--check"] : []),
      "--config",
      copy,
    ]);
    if (exitCode !== 0) {
      const stale = check === true && output.includes("out of date");
      console.error(stale ? "worker-configuration.d.ts is out of date. Run `npm run types` and commit it." : output);
      return exitCode;
    }
  } finally {
    rmSync(join(PROJECT_ROOT, copy), { force: true });
  }
  if (check === true) return 0;
  // wrangler writes its command into the file, and a later --check reads the options there. So the copy's name is replaced.
  const text = readFileSync(TYPES, "utf8");
  writeFileSync(TYPES, text.replace(/(?<=by running `)[^`]*/, `wrangler ${COMMAND.join(" ")}`));
  console.log("Wrote worker-configuration.d.ts.");
  return 0;
}
