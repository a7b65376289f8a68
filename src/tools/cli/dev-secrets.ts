import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";

/** The secrets that a Worker needs, each with a function that makes one. Their rules are in config.ts. */
const SECRETS = {
  MASTER_KEY: () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
  ADMIN_TOKEN: () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex"),
} as const;

export type SecretName = keyof typeof SECRETS;

export const SECRET_NAMES = Object.keys(SECRETS) as SecretName[];

/**
 * Makes a file of secrets with random values, which only its owner can read. An existing file keeps its lines. Missing secrets are
 * added at its end.
 *
 * @returns the added secrets, and the secrets whose value is a placeholder, which the Worker refuses
 */
export function ensureDevSecrets(file: string): { made: boolean; added: SecretName[]; placeholders: SecretName[] } {
  if (!existsSync(file)) {
    writeFileSync(file, linesOf(SECRET_NAMES), { mode: 0o600, flag: "wx" });
    return { made: true, added: SECRET_NAMES, placeholders: [] };
  }
  const text = readFileSync(file, "utf8");
  const values = new Map(SECRET_NAMES.map((name) => [name, lastValue(text, name)]));
  const addedNames = SECRET_NAMES.filter((name) => values.get(name) === "");
  const placeholders = SECRET_NAMES.filter((name) =>
    /^(change|replace|your|example|placeholder)/i.test(values.get(name) ?? ""),
  );
  if (addedNames.length > 0)
    appendFileSync(file, `${text === "" || text.endsWith("\n") ? "" : "\n"}${linesOf(addedNames)}`);
  return { made: false, added: addedNames, placeholders };
}

/** Lines of a file of secrets, with new random values. */
export const linesOf = (names: readonly SecretName[]) => names.map((name) => `${name}=${SECRETS[name]()}\n`).join("");

/** The value of a name, as dotenv reads it: the value in the last line with this name. Empty when no line has it. */
export function lastValue(text: string, name: string): string {
  const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*[=:][ \\t]*(["'\`]?)(.*?)\\1[ \\t]*(?:#.*)?$`, "gm");
  return [...text.matchAll(line)].at(-1)?.[2] ?? "";
}
