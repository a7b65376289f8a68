import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";

/** The secrets that a local run needs, and how each is made. config.ts has their rules. */
const SECRETS = {
  MASTER_KEY: () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
  ADMIN_TOKEN: () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex"),
} as const;

type SecretName = keyof typeof SECRETS;

const NAMES = Object.keys(SECRETS) as SecretName[];

/**
 * Makes a file of secrets with random values that only its owner can read. An existing file keeps its lines; missing secrets are
 * appended.
 *
 * @returns the secrets that were added, and those whose value is a placeholder, which the Worker refuses
 */
export function ensureDevSecrets(file: string): { made: boolean; added: SecretName[]; placeholders: SecretName[] } {
  if (!existsSync(file)) {
    writeFileSync(file, linesOf(NAMES), { mode: 0o600, flag: "wx" });
    return { made: true, added: NAMES, placeholders: [] };
  }
  const text = readFileSync(file, "utf8");
  const values = new Map(NAMES.map((name) => [name, lastValue(text, name)]));
  const added = NAMES.filter((name) => values.get(name) === "");
  const placeholders = NAMES.filter((name) =>
    /^(change|replace|your|example|placeholder)/i.test(values.get(name) ?? ""),
  );
  if (added.length > 0) appendFileSync(file, `${text === "" || text.endsWith("\n") ? "" : "\n"}${linesOf(added)}`);
  return { made: false, added, placeholders };
}

const linesOf = (names: readonly SecretName[]) => names.map((name) => `${name}=${SECRETS[name]()}\n`).join("");

/** The value of a name as dotenv reads it: the last line counts. Empty when there is none. */
function lastValue(text: string, name: string): string {
  const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*[=:][ \\t]*(["'\`]?)(.*?)\\1[ \\t]*(?:#.*)?$`, "gm");
  return [...text.matchAll(line)].at(-1)?.[2] ?? "";
}
