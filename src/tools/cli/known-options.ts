import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import type { Io } from "./io.ts";

/** A command was called wrongly. The message is for the person who typed it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** npm has settings with these names. When they are set, an .npmrc may have set them: it does not mean that somebody typed them. */
const SETTINGS_OF_NPM = ["access", "location", "message", "tag"];

interface Reading {
  allowPositionals?: boolean;
  /** Names that are no options, although people may give them as options. */
  mistaken?: readonly string[];
  /** The variables in which npm says what it kept; by default those of this process. */
  env?: Io["env"];
}

/**
 * Reads the options of a command that npm runs. An unknown option is an error: a typing error must stop the command before it does
 * anything.
 *
 * @param example  a right call of the command: "npm start -- …"
 * @throws UsageError naming the options that npm kept for itself, an unknown option or argument, or an option that stands twice and may
 *   have one value only
 */
export function readOptions<Options extends ParseArgsOptionsConfig>(
  example: string,
  args: string[],
  options: Options,
  { allowPositionals = false, mistaken = [], env = process.env }: Reading = {},
) {
  const names = Object.keys(options);
  const kept = keptByNpm([...names, ...mistaken], env);
  if (kept.length > 0) {
    throw new UsageError(`npm kept ${listed(kept)} for itself. Options stand after "--": ${example}`);
  }
  const read = parse(args, options, allowPositionals);
  const given = read.tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
  const twice = given.find((name, at) => given.indexOf(name) < at && !takesMany(options[name]));
  if (twice !== undefined) throw new UsageError(`--${twice} may be given once.`);
  return read;
}

/** Whether an option may stand several times. A flag may: it means the same each time. */
const takesMany = (option: ParseArgsOptionsConfig[string] | undefined) =>
  option?.multiple === true || option?.type === "boolean";

function parse<Options extends ParseArgsOptionsConfig>(args: string[], options: Options, allowPositionals: boolean) {
  try {
    return parseArgs({ args, options, allowPositionals, tokens: true });
  } catch (error) {
    // Only the first sentence is shown: node's advice after it is wrong for these commands.
    const [what] = (error as Error).message.split(/\. |\n/);
    throw new UsageError(`${what}. The options are ${listed(Object.keys(options))}.`);
  }
}

/** The options as command-line arguments for another program. */
export function asArguments(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    [value].flat().map((each) => (each === true ? `--${name}` : `--${name}=${each}`)),
  );
}

/** The options that were typed before "--". npm takes them for its own settings: this program finds them in its environment only. */
function keptByNpm(names: readonly string[], env: Io["env"]): string[] {
  return names.filter(
    (name) => !SETTINGS_OF_NPM.includes(name) && env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined,
  );
}

const listed = (names: readonly string[]) => names.map((name) => `--${name}`).join(", ");
