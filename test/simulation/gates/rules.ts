import type { CodeSpot } from "./covered.ts";
import { isCallOf, isFunction, type Node, nameOf, readSources, type SourceFile, wordsOf } from "./source.ts";

/** A place in the code. V8 counts its runs, which tells whether a rule was asked. */
export interface CodePlace extends CodeSpot {
  rule: string;
}

/** Matches the return type of a function that returns a pair: a rule, and what happened instead. */
const GIVES_PAIR = /\bBrokenRule\b|\[rule: string/;
/** The nodes of the syntax tree that may be between a pair of {@link GIVES_PAIR} and its function. */
const ON_THE_WAY =
  /^(Conditional|Logical|Parenthesized)Expression|^(Return|Block|If|For|ForOf|Switch)Statement|SwitchCase$/;

/** The rules of the simulation in the current checkout. */
export const readRules = (): CodePlace[] => rulesOf(readSources());

/**
 * Every rule with each place that asks it. Rules are the texts passed to `violate`, and the texts in pairs that a
 * function returns.
 *
 * @throws Error for a text that cannot be followed: write it as a literal, a `const`, in a list, or in a record of
 *   sentences by kind
 */
export const rulesOf = (sources: readonly SourceFile[]): CodePlace[] =>
  sources.flatMap((source) =>
    source.nodes.flatMap((node) => {
      if (isCallOf(node, "violate")) return rulesIn(node.arguments[0], node, source, sources);
      return isPair(node, source) ? rulesIn(node.elements[0], node, source, sources) : [];
    }),
  );

/** @param at the node that breaks the rule */
function rulesIn(words: Node, at: Node, source: SourceFile, sources: readonly SourceFile[]): CodePlace[] {
  const { nodes, url } = source;
  const rule = wordsOf(words);
  if (rule !== undefined) return askedAt(at, nodes).map((offset) => ({ rule, url, offset }));
  const follow = (next: Node, from = at) => rulesIn(next, from, source, sources);
  const { type, consequent, alternate, left, right, object, property } = words;
  if (type === "ConditionalExpression") return [consequent, alternate].flatMap((each) => follow(each));
  if (type === "LogicalExpression") return [left, right].flatMap((each) => follow(each));
  // `broken[0]`: its text is found where the pair is made.
  if (type === "MemberExpression" && property.value === 0) return [];
  if (type === "MemberExpression") return sentencesOf(nameOf(object), sources);
  const declaration = type === "Identifier" ? declarationOf(words, nodes) : undefined;
  if (declaration?.type === "VariableDeclarator") return follow(declaration.init);
  // `for (const { rule } of RULES)`: the texts are in the list.
  if (declaration?.type === "Property") {
    return nodes.flatMap(({ type, key, value }) =>
      type === "Property" && nameOf(key) === words.name && wordsOf(value) !== undefined ? follow(value) : [],
    );
  }
  if (declaration !== undefined) {
    const place = declaration.params.findIndex((each: Node) => each.name === words.name);
    return callsOf(declaration, nodes).flatMap((call) => follow(call.arguments[place], call));
  }
  const line = source.text.slice(0, words.start).split("\n").length;
  throw new Error(`${source.file}:${line}: which rule is ${source.text.slice(words.start, words.end)}?`);
}

/**
 * The places where V8 counts that a rule is asked. Each is the last condition before the violation: that of its branch,
 * or that of an early return.
 *
 * @param at the node that breaks the rule
 * @param nodes all nodes of its file: `at` may be in a function that others call when something is wrong
 */
function askedAt(at: Node, nodes: readonly Node[]): number[] {
  for (let child = at, parent = child.parent; parent !== undefined; child = parent, parent = child.parent) {
    if (isFunction(parent)) {
      const calls = callsOf(parent, nodes);
      return calls.length === 0 ? [child.start] : calls.flatMap((call) => askedAt(call, nodes));
    }
    const { type, test, left, right, consequent, body } = parent;
    if (/^(IfStatement|ConditionalExpression)$/.test(type) && child !== test)
      return [lastAsked(test, child === consequent)];
    if (type === "LogicalExpression" && child === right) return [lastAsked(left, parent.operator === "&&")];
    const statements: Node[] = type === "SwitchCase" ? consequent : type === "BlockStatement" ? body : [];
    const before = statements.slice(0, Math.max(0, statements.indexOf(child)));
    const exit = before.findLast((each) => each.type === "IfStatement" && leaves(each.consequent));
    if (exit !== undefined) return [lastAsked(exit.test, false)];
    if (type === "SwitchCase") return [consequent[0].start];
  }
  return [at.start];
}

/**
 * The part of a test that is evaluated last when the test gives `comesTo`. The parts before it are the rule's
 * precondition: the rule of `attempts >= 8 && claim === null` is asked only after eight attempts.
 */
const lastAsked = ({ operator, start, end }: Node, comesTo: boolean): number =>
  operator === (comesTo ? "||" : "&&") ? start : end - 1;

/** Whether a statement always leaves its block, so nothing after it runs. */
const leaves = ({ type, body }: Node): boolean =>
  type === "BlockStatement" ? body.length > 0 && leaves(body.at(-1)) : /^(Return|Throw|Continue|Break)/.test(type);

/** The calls of a function in its file, by its own name or by the name of the variable or member that holds it. */
function callsOf({ id, parent }: Node, nodes: readonly Node[]): Node[] {
  const name = nameOf(id) ?? nameOf(parent?.id ?? parent?.key);
  return name === undefined ? [] : nodes.filter((each) => isCallOf(each, name));
}

/**
 * The last declaration of a name before its use: a variable, the function with the parameter, or a destructured field.
 */
function declarationOf(use: Node, nodes: readonly Node[]): Node | undefined {
  const declares = ({ type, id, params, key, parent }: Node) =>
    (type === "VariableDeclarator" && nameOf(id) === use.name) ||
    params?.some?.((each: Node) => nameOf(each) === use.name) ||
    (type === "Property" && parent?.type === "ObjectPattern" && nameOf(key) === use.name);
  return nodes.findLast((each) => each.start < use.start && declares(each));
}

/** Whether a node is a pair of a rule and what happened instead. */
function isPair(node: Node, { text }: SourceFile): boolean {
  if (node.type !== "ArrayExpression" || node.elements.length !== 2) return false;
  let parent = node.parent;
  while (parent !== undefined && ON_THE_WAY.test(parent.type)) parent = parent.parent;
  if (parent === undefined || !isFunction(parent)) return parent !== undefined && isCallOf(parent, "report");
  return parent.returnType != null && GIVES_PAIR.test(text.slice(parent.returnType.start, parent.returnType.end));
}

/** The sentences of a record by kind. A sentence is asked where the checker makes an object of its kind. */
const sentencesOf = (record: string | undefined, sources: readonly SourceFile[]): CodePlace[] =>
  sources.flatMap(({ nodes }) => {
    const declaration = nodes.find(({ type, id }) => type === "VariableDeclarator" && nameOf(id) === record);
    const sentences: Node[] = declaration?.init?.properties ?? [];
    return sentences.flatMap(({ key, value }) => kindsOf(nameOf(key) ?? wordsOf(key), wordsOf(value), sources));
  });

function kindsOf(kind: string | undefined, rule: string | undefined, sources: readonly SourceFile[]): CodePlace[] {
  const places = sources.flatMap(({ file, nodes, url }) => {
    const declarations = nodes.filter(
      ({ type, key, value }) => type === "Property" && nameOf(key) === "kind" && wordsOf(value) === kind,
    );
    return file.includes("/rules/")
      ? declarations.map(({ value }) => ({ rule: rule ?? "", url, offset: value.start }))
      : [];
  });
  if (rule === undefined || places.length === 0)
    throw new Error(`which rule is of the kind ${kind}, and where is it asked?`);
  return places;
}
