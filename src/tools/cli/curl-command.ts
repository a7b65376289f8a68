/** The longest argument in bytes. The kernel allows 128 KiB for an argument. A longer body goes through the shell's own printf, which has no limit. */
const LONGEST_ARGUMENT = 100_000;

/** Characters that cannot be in an argument: copy and paste loses control characters, and an argument cannot hold a NUL. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds them
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/** A command for any POSIX shell that posts exactly these bytes. */
export function curlCommand(url: string, headers: Readonly<Record<string, string>>, body: Uint8Array): string {
  const text = asText(body);
  const options = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  const curl = [`curl -sS -i ${quote(url)}`, ...options];
  // It is --data-raw, because --data would read a file when the body starts with @.
  if (text !== undefined) return [...curl, `--data-raw ${quote(text)}`].join(" \\\n  ");
  return `printf '${octal(body)}' | ${[...curl, "--data-binary @-"].join(" \\\n  ")}`;
}

/** The body as text; undefined when an argument cannot hold it. */
function asText(body: Uint8Array): string | undefined {
  if (body.length > LONGEST_ARGUMENT) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return UNPRINTABLE.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function octal(body: Uint8Array): string {
  return Array.from(body, (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
