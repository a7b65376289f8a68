import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vitest/node";

const SIMULATION = join(import.meta.dirname, "..");

/** Files that are not part of a run. */
const OUTSIDE_OF_RUNS = /^(command|conformance|defects|gates)\/|\.test\.ts$/;

/** A node of the syntax tree, in the form of ESTree and its TypeScript extension. */
export interface Node {
  type: string;
  /** The offset in UTF-16 code units. */
  start: number;
  end: number;
  parent: Node | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: each of about a hundred node types has other fields.
  [field: string]: any;
}

export interface SourceFile {
  /** Relative to test/simulation/. */
  file: string;
  /** The name that V8 reports. */
  url: string;
  text: string;
  /** All nodes, each after its parent. */
  nodes: Node[];
}

let read: SourceFile[] | undefined;

/** Every file that a run may load. They are parsed once, because that takes long. */
export const readSources = (): SourceFile[] =>
  (read ??= globSync("**/*.ts", { cwd: SIMULATION })
    .filter((file) => !OUTSIDE_OF_RUNS.test(file))
    .sort()
    .map((file) => sourceOf(file, readFileSync(join(SIMULATION, file), "utf8"))));

export function sourceOf(file: string, text: string): SourceFile {
  const nodes: Node[] = [];
  const add = (node: Node, parent: Node | undefined) => {
    node.parent = parent;
    nodes.push(node);
    for (const [field, value] of Object.entries(node)) {
      if (field === "parent") continue;
      for (const each of [value].flat()) if (isNode(each)) add(each, node);
    }
  };
  add(parseAst(text, { lang: "ts" }) as unknown as Node, undefined);
  return { file, url: `file://${join(SIMULATION, file)}`, text, nodes };
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string" && "start" in value;

/** The text of a literal; undefined for anything else. */
export const wordsOf = (node: Node | null | undefined): string | undefined =>
  node?.type === "Literal" && typeof node.value === "string"
    ? node.value
    : node?.type === "TemplateLiteral" && node.expressions.length === 0
      ? node.quasis[0].value.cooked
      : undefined;

/** The name of a function, a variable or a member: `violate` of `this.#violate`. */
export const nameOf = (node: Node | null | undefined): string | undefined =>
  node?.type === "Identifier" || node?.type === "PrivateIdentifier"
    ? node.name
    : node?.type === "MemberExpression" && !node.computed
      ? nameOf(node.property)
      : undefined;

export const isFunction = ({ type }: Node): boolean =>
  type === "FunctionDeclaration" || type === "FunctionExpression" || type === "ArrowFunctionExpression";

export const isCallOf = (node: Node, name: string): boolean =>
  node.type === "CallExpression" && nameOf(node.callee) === name;
