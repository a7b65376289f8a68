import type { Spot } from "./covered.ts";
import { WHOLE_TEST } from "./exceptions.ts";
import { declarationOf, questionsOf } from "./question.ts";
import {
  isCallOf,
  isFunction,
  type Node,
  nameOf,
  nameOfFunction,
  readSources,
  type Source,
  wordsOf,
} from "./source.ts";

/** A place whose count by V8 tells whether a rule was asked. */
export interface Place extends Spot {
  rule: string;
}

/** The return type of a function that returns a rule with what happened instead. */
const GIVES_PAIR = /\bBroken\b|\[rule: string/;

/** Syntax that may stand between such a pair and its function. */
const ON_THE_WAY =
  /^((Conditional|Logical|Parenthesized)Expression|(Return|Block|If|For|ForOf|Switch)Statement|SwitchCase)$/;

/** The rules of the simulation in the current checkout. */
export const readRules = (): Place[] => rulesOf(readSources());

/**
 * Every rule with each place that asks it. Rules are the texts passed to `violate`, and those in pairs that a function
 * returns to its caller.
 *
 * @throws Error for a text that cannot be followed: write it as a literal, a `const`, in a list, or in a record of
 *   sentences by kind
 */
export const rulesOf = (sources: readonly Source[]): Place[] =>
  sources.flatMap((source) =>
    source.nodes.flatMap((node) => {
      if (isCallOf(node, "violate")) return rulesIn(node.arguments[0], node, source, sources);
      return isPair(node, source) ? rulesIn(node.elements[0], node, source, sources) : [];
    }),
  );

/** @param at the node that breaks the rule */
function rulesIn(words: Node, at: Node, source: Source, sources: readonly Source[]): Place[] {
  const rule = wordsOf(words);
  if (rule !== undefined) {
    return questionsOf(at, source.nodes, rule in WHOLE_TEST).map(({ start }) => ({
      rule,
      url: source.url,
      offset: start,
    }));
  }
  const follow = (next: Node, from = at) => rulesIn(next, from, source, sources);
  const { type, consequent, alternate, left, right, property } = words;
  if (type === "ConditionalExpression") return [consequent, alternate].flatMap((each) => follow(each));
  if (type === "LogicalExpression") return [left, right].flatMap((each) => follow(each));
  // `broken[0]`: its text is found where the pair is made.
  if (type === "MemberExpression" && property.value === 0) return [];
  const value = type === "Identifier" ? declarationOf(words)?.init : undefined;
  if (value != null) return follow(value);
  const handed = type === "Identifier" ? handedOver(words, source) : undefined;
  if (handed !== undefined) return handed.flatMap((call) => follow(call.words, call.at));
  // `for (const { rule } of RULES)`: the texts are in the list.
  const listed = source.nodes.filter((each) => isField(each, nameOf(words)));
  if (type === "Identifier" && listed.length > 0) return listed.flatMap(({ value: field }) => follow(field));
  const record = type === "MemberExpression" ? sentencesOf(words.object.name, sources) : undefined;
  if (record !== undefined) return record;
  const line = source.text.slice(0, words.start).split("\n").length;
  throw new Error(`${source.file}:${line}: which rule is ${source.text.slice(words.start, words.end)}?`);
}

const isField = ({ type, key, value }: Node, name: string | undefined): boolean =>
  type === "Property" && nameOf(key) === name && wordsOf(value) !== undefined;

/** Whether a node is a pair of a rule and what happened instead. */
function isPair(node: Node, { text }: Source): boolean {
  if (node.type !== "ArrayExpression" || node.elements.length !== 2) return false;
  let parent = node.parent;
  while (parent !== undefined && ON_THE_WAY.test(parent.type)) parent = parent.parent;
  if (parent === undefined) return false;
  const { returnType } = parent;
  return isFunction(parent)
    ? returnType != null && GIVES_PAIR.test(text.slice(returnType.start, returnType.end))
    : isCallOf(parent, "report");
}

/** The arguments that callers of a function pass for this parameter; undefined when the name is no parameter. */
function handedOver(name: Node, { nodes }: Source): { words: Node; at: Node }[] | undefined {
  for (let scope = name.parent; scope !== undefined; scope = scope.parent) {
    if (!isFunction(scope)) continue;
    const place = scope.params.findIndex((each: Node) => each.name === name.name);
    const called = nameOfFunction(scope);
    if (place < 0 || called === undefined) continue;
    return nodes.flatMap((at) => (isCallOf(at, called) ? [{ words: at.arguments[place], at }] : []));
  }
  return undefined;
}

/** The sentences of a record by kind. Each is asked where its kind is handled. */
function sentencesOf(name: string, sources: readonly Source[]): Place[] | undefined {
  const isRecord = ({ type, id, init }: Node) =>
    type === "VariableDeclarator" && id.name === name && init?.type === "ObjectExpression";
  const record = sources.flatMap(({ nodes }) => nodes).find(isRecord);
  return record?.init.properties.flatMap(({ key, value }: Node) => {
    const rule = wordsOf(value);
    if (rule === undefined) throw new Error(`which rule is ${name}.${nameOf(key)}?`);
    return spotsOf(nameOf(key) ?? wordsOf(key) ?? "", sources).map((spot) => ({ rule, ...spot }));
  });
}

/** Where the checker checks something of a kind, otherwise where it decides that something is of that kind. */
function spotsOf(kind: string, sources: readonly Source[]): Spot[] {
  const held: Spot[] = [];
  const found: Spot[] = [];
  for (const { file, nodes, url } of sources) {
    if (!file.startsWith("checker/")) continue;
    for (const { type, test, consequent, key, value } of nodes) {
      const [first] = type === "SwitchCase" && wordsOf(test) === kind ? consequent : [];
      if (first !== undefined && !saysOnly(first)) held.push({ url, offset: first.start });
      if (type === "Property" && nameOf(key) === "kind" && wordsOf(value) === kind)
        found.push({ url, offset: value.start });
    }
  }
  return held.length > 0 ? held : found;
}

/** `return undefined;` and `return "what is wrong";` check nothing. */
const saysOnly = ({ type, argument }: Node): boolean =>
  type === "ReturnStatement" && (argument == null || argument.name === "undefined" || wordsOf(argument) !== undefined);
