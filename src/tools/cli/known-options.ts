import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import type { Io } from "./io.ts";

/** Thrown when a command was called wrongly. The message is for the person who typed it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** npm has settings with these names. A value of theirs may come from an .npmrc and not from the command line. */
const SETTINGS_OF_NPM = ["access", "location", "message", "tag"];

interface ReadingOptions {
  allowPositionals?: boolean;
  /** Names that people give as options although they are none. */
  mistaken?: readonly string[];
  /** The variables in which npm reports the options that it kept. By default they are those of this process. */
  env?: Io["env"];
}

/**
 * Reads the options of a command that npm runs. An unknown option is an error, so that a typing error stops the command before it
 * changes anything.
 *
 * @param example  a right call of the command: "npm start -- …"
 * @throws UsageError, which names the options that npm kept, an unknown option or argument, or an option that has several values but may
 *   have only one
 */
export function readOptions<Options extends ParseArgsOptionsConfig>(
  example: string,
  args: string[],
  options: Options,
  { allowPositionals = false, mistaken = [], env = process.env }: ReadingOptions = {},
) {
  const names = Object.keys(options);
  const optionsOfNpm = keptByNpm([...names, ...mistaken], env);
  if (optionsOfNpm.length > 0) {
    throw new UsageError(`npm kept ${optionList(optionsOfNpm)} for itself. Options stand after "--": ${example}`);
  }
  const parsedArguments = parse(args, options, allowPositionals);
  const givenNames = parsedArguments.tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
  const twice = givenNames.find((name, at) => givenNames.indexOf(name) < at && !takesMany(options[name]));
  if (twice !== undefined) throw new UsageError(`--${twice} may be given once.`);
  return parsedArguments;
}

/** Whether an option may occur several times. A flag may, because a second one changes nothing. */
const takesMany = (option: ParseArgsOptionsConfig[string] | undefined) =>
  option?.multiple === true || option?.type === "boolean";

function parse<Options extends ParseArgsOptionsConfig>(args: string[], options: Options, allowPositionals: boolean) {
  try {
    return parseArgs({ args, options, allowPositionals, tokens: true });
  } catch (error) {
    // Only the first sentence of node's message is shown. The advice after it is wrong for these commands.
    const [what] = (error as Error).message.split(/\. |\n/);
    throw new UsageError(`${what}. The options are ${optionList(Object.keys(options))}.`);
  }
}

/** The options as command-line arguments for another program. */
export function asArguments(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    [value].flat().map((each) => (each === true ? `--${name}` : `--${name}=${each}`)),
  );
}

/** The options that were typed before "--". npm takes them for its own settings, so this program finds them only in its environment. */
function keptByNpm(names: readonly string[], env: Io["env"]): string[] {
  return names.filter(
    (name) => !SETTINGS_OF_NPM.includes(name) && env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined,
  );
}

const optionList = (names: readonly string[]) => names.map((name) => `--${name}`).join(", ");
