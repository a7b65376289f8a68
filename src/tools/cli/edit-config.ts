import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Unstable_RawConfig as RawConfig, Unstable_RawEnvironment as Stage } from "wrangler";
import { type D1Block, withDatabase } from "./wrangler-toml.ts";

/** Thrown for a file of a form that this code cannot change. The message says what to change by hand. */
export class NotEditable extends Error {}

/** A part of wrangler's configuration: the file, and an environment in it. The environment "" is the top level. */
export interface ConfigPart {
  file: string;
  env: string;
}

/**
 * Prepares another D1 binding. The file is written when the returned function is called. The text is changed, and wrangler reads the
 * result, which may differ only by this one change of the environment.
 *
 * @throws NotEditable
 */
export async function prepareDatabase({ file, env }: ConfigPart, block: D1Block): Promise<() => void> {
  const text = readFileSync(file, "utf8");
  const changed = withDatabase(text, env, block);
  const before = await parsedConfig(basename(file), text);
  const oldStage: Stage = env === "" ? (before as Stage) : (before.env?.[env] ?? {});
  const stage = { ...oldStage, d1_databases: [...(oldStage.d1_databases ?? []), { ...block }] };
  const expectedConfig = env === "" ? stage : { ...before, env: { ...before.env, [env]: stage } };
  const after = await parsedConfig(basename(file), changed).catch(() => undefined);
  if (!file.endsWith(".toml") || !isDeepStrictEqual(after, plainCopy(expectedConfig))) {
    throw new NotEditable(
      `${file} has a form that is not changed here. Write into it by hand, then run this again: a D1 binding ${block.binding} with database_name "${block.database_name}" and migrations_dir "${block.migrations_dir}"`,
    );
  }
  return () => writeFileSync(file, changed);
}

/** The configuration that wrangler reads from a text. The text goes through a file, because wrangler reads files only. */
async function parsedConfig(name: string, text: string): Promise<RawConfig> {
  const { experimental_readRawConfig } = await import("wrangler");
  const folder = mkdtempSync(join(tmpdir(), "agent-session-config-"));
  const config = join(folder, name);
  try {
    writeFileSync(config, text);
    return plainCopy(experimental_readRawConfig({ config }).rawConfig);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A copy for comparing, with ordinary prototypes and without undefined values. */
const plainCopy = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value));
