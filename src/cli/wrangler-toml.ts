/**
 * Changes wrangler.toml as text, because wrangler would lose its comments. Nothing here parses TOML, and a file may have a form that this
 * code does not know. So edit-config.ts lets wrangler read each result before it is written.
 */

/** A D1 binding, in the file's own names. */
export interface D1Block {
  binding: string;
  database_name: string;
  migrations_dir: string;
}

/** Adds a D1 binding at the end of the file. TOML allows this: its header is the full one of an array of tables. */
export function withDatabase(text: string, env: string, { binding, database_name, migrations_dir }: D1Block): string {
  const eol = lineEnd(text);
  const lines = [
    `[[${tableName(env, "d1_databases")}]]`,
    `binding = ${JSON.stringify(binding)}`,
    `database_name = ${JSON.stringify(database_name)}`,
    `migrations_dir = ${JSON.stringify(migrations_dir)}`,
  ];
  const before = text.trimEnd();
  return `${before}${before === "" ? "" : eol + eol}${lines.join(eol)}${eol}`;
}

/** Sets a var of the environment. The comment behind the old value stays. */
export function withVar(text: string, env: string, name: string, value: string): string {
  const eol = lineEnd(text);
  const line = `${name} = ${JSON.stringify(value)}`;
  const lines = text.split(eol);
  const header = lines.findIndex((each) => headerOf(each) === `[${tableName(env, "vars")}]`);
  if (header === -1) return `${text.trimEnd()}${eol}${eol}[${tableName(env, "vars")}]${eol}${line}${eol}`;
  const next = lines.findIndex((each, index) => index > header && headerOf(each) !== undefined);
  const end = next === -1 ? lines.length : next;
  const old = new RegExp(`^\\s*["']?${name}["']?\\s*=\\s*(?:"[^"]*"|'[^']*')`);
  const at = lines.findIndex((each, index) => index > header && index < end && old.test(each));
  // The replacement is a function: in a text, "$" would have a special meaning.
  if (at === -1) lines.splice(header + 1, 0, line);
  else lines[at] = (lines[at] as string).replace(old, () => line);
  return lines.join(eol);
}

/** The header of a table, without its blanks and its comment; undefined for any other line. */
const headerOf = (line: string) => /^\s*(\[.*\])\s*(?:#.*)?$/.exec(line)?.[1]?.replaceAll(/\s/g, "");

const tableName = (env: string, table: string) => (env === "" ? table : `env.${key(env)}.${table}`);

const key = (name: string) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));

const lineEnd = (text: string) => (text.includes("\r\n") ? "\r\n" : "\n");
