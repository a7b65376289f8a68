import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** Called wrongly. The message is for the person who typed it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** npm has settings of these names too, which an .npmrc may hold: finding them says nothing of what was typed. */
const SETTINGS_OF_NPM = ["location", "message", "tag"];

/**
 * Reads the options of a command that npm runs. All of them must be known, so that a typo stops it before it has done anything.
 *
 * @param example  how it is called: "npm start -- …"
 * @param mistaken more names that people give as options where they are none
 * @throws UsageError naming the options that npm kept for itself, or the option or argument that is not known
 */
export function readOptions<Options extends ParseArgsOptionsConfig>(
  example: string,
  args: string[],
  options: Options,
  { allowPositionals = false, mistaken = [] }: { allowPositionals?: boolean; mistaken?: readonly string[] } = {},
) {
  const names = Object.keys(options);
  const kept = keptByNpm([...names, ...mistaken]);
  if (kept.length > 0) {
    throw new UsageError(`npm kept ${listed(kept)} for itself. Options stand after "--": ${example}`);
  }
  try {
    return parseArgs({ args, options, allowPositionals });
  } catch (error) {
    // What node adds after its first sentence is advice that does not hold here.
    const [what] = (error as Error).message.split(/\. |\n/);
    throw new UsageError(`${what}. The options are ${listed(names)}.`);
  }
}

/** The options as another program takes them. */
export function asArguments(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    [value].flat().map((each) => (each === true ? `--${name}` : `--${name}=${each}`)),
  );
}

/** What stands before its own "--" npm takes for settings, and hands them on in the environment only. */
function keptByNpm(names: readonly string[]): string[] {
  const { env } = process;
  return names.filter(
    (name) => !SETTINGS_OF_NPM.includes(name) && env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined,
  );
}

const listed = (names: readonly string[]) => names.map((name) => `--${name}`).join(", ");
