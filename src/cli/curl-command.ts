/** The kernel takes at most 128 KiB in one argument; a shell's own printf has no such limit. */
const LONGEST_ARGUMENT = 100_000;

/** Control characters do not survive a copy and paste; a NUL is no argument at all. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/** A POST as a command for any POSIX shell, which sends exactly these bytes. */
export function curlCommand(url: string, headers: Readonly<Record<string, string>>, body: Uint8Array): string {
  const text = asText(body);
  const options = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  const curl = [`curl -sS -i ${quote(url)}`, ...options];
  // Not --data: it would read a file for a body that starts with @.
  if (text !== undefined) return [...curl, `--data-raw ${quote(text)}`].join(" \\\n  ");
  return `printf '${octal(body)}' | ${[...curl, "--data-binary @-"].join(" \\\n  ")}`;
}

/** Undefined where the bytes are no text that an argument can carry. */
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
