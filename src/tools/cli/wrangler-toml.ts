/**
 * Changes wrangler.toml as text, because wrangler would lose its comments. This code does not parse TOML, and a file may have a form
 * that it does not know. So edit-config.ts lets wrangler read each result before it is written.
 */

/** A D1 binding, in the file's own names. */
export interface D1Block {
  binding: string;
  database_name: string;
  migrations_dir: string;
}

/** Adds a D1 binding at the end of the file. TOML allows this, because the binding's header is the full one of an array of tables. */
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

const tableName = (env: string, table: string) => (env === "" ? table : `env.${key(env)}.${table}`);

const key = (name: string) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));

const lineEnd = (text: string) => (text.includes("\r\n") ? "\r\n" : "\n");
