import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Documentation, Operation } from "../operations/operation.ts";

/** A signed operation and its file. */
export interface OperationFile {
  /** Its name in the folder: "create-session.ts". */
  file: string;
  operation: Operation;
  documentation: Documentation;
}

/** The generated list, which is no operation and may be missing or outdated. */
const LIST = "index.ts";

/** The form of names on the wire and in the table of idempotency keys. */
const NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/**
 * The signed operations of a folder: those of the contract by its sections, then the others by their names on the wire.
 *
 * @throws Error naming each file that cannot be listed, and why
 */
export async function readOperations(folder: string): Promise<OperationFile[]> {
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && file !== LIST);
  const modules = await Promise.all(files.map(async (file) => ({ file, ...(await load(folder, file)) })));
  const operations = modules.filter((module) => "operation" in module || "documentation" in module);
  const faults = operations.flatMap((each) => faultsOf(each).map((fault) => `${each.file}: ${fault}`));
  if (faults.length > 0) throw new Error(faults.join("\n"));
  const complete = operations as OperationFile[];
  const doubles = doublesOf(complete);
  if (doubles.length > 0) throw new Error(doubles.join("\n"));
  return complete.sort(inOrder);
}

/** What a file exports for the list. Empty for a file that several operations share. */
async function load(folder: string, file: string): Promise<Partial<Omit<OperationFile, "file">>> {
  const { default: operation, documentation } = await import(pathToFileURL(join(folder, file)).href).catch((cause) => {
    throw new Error(`${file}: ${(cause as Error).message}`, { cause });
  });
  return { ...(operation !== undefined && { operation }), ...(documentation !== undefined && { documentation }) };
}

/** Why a file cannot be listed. */
export function faultsOf({ operation, documentation }: Partial<OperationFile>): string[] {
  if (operation?.fieldNames === undefined) return ["its default export is not made by defineOperation"];
  if (documentation === undefined) return ["has no export `documentation`"];
  const { name, wireName, fieldNames, refusals } = operation;
  const { fields, examples, probes } = documentation;
  const refusalNames = Object.keys(refusals);
  return [
    ...[name, wireName].filter((each) => !NAME.test(each)).map((each) => `"${each}" is not a name like create_gd`),
    ...fieldNames
      .filter((field) => !fields[field]?.description)
      .map((field) => `documentation.fields has no description of ${field}`),
    ...foreign(fields, fieldNames).map((field) => `documentation.fields has ${field}, which is not a field`),
    ...foreign(probes?.() ?? {}, fieldNames).map((field) => `documentation.probes has ${field}, which is not a field`),
    ...refusalNames
      .filter((refusal) => !documentation.refusals[refusal]?.cause || !documentation.refusals[refusal].cure)
      .map((refusal) => `documentation.refusals has no cause or no cure of ${refusal}`),
    ...foreign(documentation.refusals, refusalNames).map(
      (refusal) => `documentation.refusals has ${refusal}, which is not a refusal`,
    ),
    ...(Object.keys(examples).length === 0 ? ["documentation.examples is empty"] : []),
    ...Object.entries(examples).flatMap(([example, body]) =>
      foreign(body.fields, fieldNames).map(
        (field) => `documentation.examples.${example} has ${field}, which is not a field`,
      ),
    ),
  ];
}

const foreign = (given: object, known: readonly string[]) => Object.keys(given).filter((name) => !known.includes(name));

/** Describes each name that several operations have. */
function doublesOf(operations: readonly OperationFile[]): string[] {
  return (["name", "wireName"] as const).flatMap((kind) =>
    Object.entries(Object.groupBy(operations, ({ operation }) => operation[kind])).flatMap(([name, those = []]) =>
      those.length === 1 ? [] : [`${those.map(({ file }) => file).join(" and ")} have the same ${kind}: ${name}`],
    ),
  );
}

function inOrder(a: OperationFile, b: OperationFile): number {
  const [ofA, ofB] = [a.documentation.section, b.documentation.section];
  if (ofA !== ofB) {
    if (ofA === undefined) return 1;
    if (ofB === undefined) return -1;
    return ofA.localeCompare(ofB, "en", { numeric: true });
  }
  return a.operation.wireName.localeCompare(b.operation.wireName, "en");
}
