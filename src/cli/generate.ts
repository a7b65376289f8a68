/**
 * `npm run generate`: writes the list of signed operations, src/operations/index.ts, and what the client knows of them,
 * src/client/operations.ts, from the files of src/operations/. A file that is up to date is not written.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readOptions, UsageError } from "./known-options.ts";
import { type OperationFile, readOperations } from "./operation-files.ts";

const USAGE = `npm run generate -- [options]

  --check      writes nothing, and exits 1 when a file is not as it should be; so it is too where CI is set
  --help, -h   this`;

const OPTIONS = { check: { type: "boolean" }, help: { type: "boolean", short: "h" } } as const;

const root = join(import.meta.dirname, "../..");
const inCi = !["", "0", "false"].includes(process.env.CI ?? "");
const MADE = "// Made by `npm run generate` from the files of src/operations/. Do not edit.";

try {
  process.exitCode = await generate(process.argv.slice(2));
} catch (error) {
  const { message } = error as Error;
  console.error(error instanceof UsageError ? `${message}\n\nnpm run generate -- --help tells more.` : message);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

async function generate(args: string[]): Promise<number> {
  const { check = inCi, help } = readOptions("npm run generate -- …", args, OPTIONS).values;
  if (help === true) {
    console.log(USAGE);
    return 0;
  }
  const operations = await readOperations(join(root, "src/operations"));
  const stale = Object.entries({
    "src/operations/index.ts": listOf(operations),
    "src/client/operations.ts": clientListOf(operations),
  }).filter(([path, content]) => content !== present(path));
  if (check && stale.length > 0) {
    const paths = stale.map(([path]) => path).join(" and ");
    console.error(`Not as src/operations/ says: ${paths}. Run \`npm run generate\` and commit what it writes.`);
    return 1;
  }
  for (const [path, content] of stale) {
    write(join(root, path), content);
    console.log(`Wrote ${path}.`);
  }
  return 0;
}

function listOf(operations: readonly OperationFile[]): string {
  const names = operations.map(({ file }) => ({ file, name: camelCase(file.replace(/\.ts$/, "")) }));
  const imports = names
    .toSorted((a, b) => (a.file < b.file ? -1 : 1))
    .map(({ file, name }) => `import ${name}, { documentation as ${name}Documentation } from "./${file}";`);
  return `${MADE}

${imports.join("\n")}
import type { Documentation, Operation } from "./operation.ts";

/** Every signed operation. */
export const OPERATIONS: readonly Operation[] = [${names.map(({ name }) => name).join(", ")}];

/** Every signed operation with what the documentation says of it. The Worker does not use it, so its bundle leaves it out. */
export const DOCUMENTED: readonly { operation: Operation; documentation: Documentation }[] = [
${names.map(({ name }) => `  { operation: ${name}, documentation: ${name}Documentation },`).join("\n")}
];
`;
}

function clientListOf(operations: readonly OperationFile[]): string {
  const entries = operations.map(({ operation: { wireName, path, fieldNames } }) => {
    const fields = fieldNames.map((field) => JSON.stringify(field)).join(", ");
    return `  ${wireName}: {\n    path: ${JSON.stringify(path)},\n    fields: [${fields}],\n  },`;
  });
  return `${MADE}

/** The signed operations by their names on the wire: where each is, and the fields of its body beside appid, timestamp and ranstr. */
export const OPERATIONS = {
${entries.join("\n")}
} as const;

export type OperationName = keyof typeof OPERATIONS;
`;
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function present(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    return undefined;
  }
}

/** Writes by renaming, because a build may read the file at the same time. */
function write(path: string, content: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content);
  renameSync(draft, path);
}
