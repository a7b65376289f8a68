/**
 * The values an option has among arguments meant for another program: `--name value`, `--name=value`, for one letter `-n value` and
 * `-nvalue` too. Everything else is left alone, known or not.
 *
 * @returns the values in their order, and the arguments without them
 */
export function optionValues(args: readonly string[], names: readonly string[]): { values: string[]; rest: string[] } {
  const values: string[] = [];
  const rest: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] as string;
    if (arg === "--") return { values, rest: [...rest, ...args.slice(index)] };
    const inline = names.map((name) => inlineValue(arg, name)).find((value) => value !== undefined);
    const next = args[index + 1];
    if (inline !== undefined) values.push(inline);
    else if (names.includes(arg) && next !== undefined) {
      values.push(next);
      index++;
    } else rest.push(arg);
  }
  return { values, rest };
}

function inlineValue(arg: string, name: string): string | undefined {
  if (arg.startsWith(`${name}=`)) return arg.slice(name.length + 1);
  const short = /^-[a-z]$/i.test(name) && arg.startsWith(name) && arg.length > 2;
  return short ? arg.slice(2) : undefined;
}
