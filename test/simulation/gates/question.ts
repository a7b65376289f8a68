import { isCallOf, isFunction, type Node, nameOfFunction } from "./source.ts";

/**
 * The conditions directly before a violation: the test of the branch that contains it, or of the early return before
 * it. Only the part of a test that is evaluated last counts, because the parts before it are the rule's precondition:
 * `attempts >= 8 && claim === null` is asked when there were eight attempts.
 *
 * @param at the node that breaks the rule
 * @param nodes all nodes of its file: `at` may be in a function that others call when something is wrong
 * @param whole whether the rule counts as asked when the test has begun
 * @returns one or more nodes; the rule is asked when one of them is evaluated
 */
export function questionsOf(at: Node, nodes: readonly Node[], whole: boolean): Node[] {
  const asked = (test: Node, comesTo: boolean) => (whole ? [test] : lastAsked(test, comesTo));
  for (let child = at, parent = child.parent; parent !== undefined; child = parent, parent = child.parent) {
    if (parent.type === "IfStatement" && child !== parent.test) return asked(parent.test, child === parent.consequent);
    if (parent.type === "ConditionalExpression" && child !== parent.test) {
      return asked(parent.test, child === parent.consequent);
    }
    if (parent.type === "LogicalExpression" && child === parent.right)
      return asked(parent.left, parent.operator === "&&");
    const before = statementsOf(parent).slice(0, Math.max(0, statementsOf(parent).indexOf(child)));
    const exits = before.filter((each) => each.type === "IfStatement" && leaves(each.consequent));
    const exit = exits.at(whole ? 0 : -1);
    if (exit !== undefined) return asked(exit.test, false);
    if (parent.type === "SwitchCase") return [parent.consequent[0]];
    if (isFunction(parent)) {
      const name = nameOfFunction(parent);
      const calls = name === undefined ? [] : nodes.filter((each) => isCallOf(each, name));
      return calls.length > 0 ? calls.flatMap((call) => questionsOf(call, nodes, whole)) : [child];
    }
  }
  return [at];
}

const statementsOf = ({ type, body, consequent }: Node): Node[] =>
  type === "BlockStatement" || type === "Program" ? body : type === "SwitchCase" ? consequent : [];

/** Whether a statement always leaves its block, so nothing after it runs. */
function leaves(statement: Node | undefined): boolean {
  if (statement?.type === "BlockStatement") return leaves(statement.body.at(-1));
  return /^(Return|Throw|Continue|Break)Statement$/.test(statement?.type ?? "");
}

/** The parts of a condition that may be evaluated last when its value is `comesTo`. */
function lastAsked(condition: Node, comesTo: boolean): Node[] {
  const { type, operator, left, right, argument, expression } = condition;
  if (type === "ParenthesizedExpression") return lastAsked(expression, comesTo);
  if (type === "UnaryExpression" && operator === "!") return lastAsked(argument, !comesTo);
  if (type === "LogicalExpression" && operator !== "??") {
    const needsBoth = (operator === "&&") === comesTo;
    return needsBoth ? lastAsked(right, comesTo) : [left, right].flatMap((each) => lastAsked(each, comesTo));
  }
  if (type === "BinaryExpression" && isNothing(right)) {
    const value = valueOfName(left);
    return value === undefined ? [condition] : lastMade(value);
  }
  const value = valueOfName(condition);
  return value === undefined ? [condition] : lastAsked(value, comesTo);
}

const isNothing = ({ type, name, raw }: Node): boolean =>
  name === "undefined" || (type === "Literal" && raw === "null");

/** The parts of an expression that may be evaluated last when its value is not `undefined`. */
function lastMade(value: Node): Node[] {
  const { type, operator, consequent, alternate, left, right, callee, arguments: given } = value;
  if (type === "ConditionalExpression") {
    return [consequent, alternate].filter((each) => !isNothing(each)).flatMap(lastMade);
  }
  if (type === "LogicalExpression") return operator === "&&" ? lastMade(right) : [left, right].flatMap(lastMade);
  const isFind = type === "CallExpression" && /^find(Last)?$/.test(callee.property?.name);
  return isFind && isFunction(given[0]) ? [given[0].body] : [value];
}

/** The value of a `const` whose name is the whole condition. */
const valueOfName = (node: Node): Node | undefined =>
  node.type === "Identifier" ? declarationOf(node)?.init : undefined;

/** The declaration of the `const` that a name refers to; undefined when there is none. */
export function declarationOf(name: Node): Node | undefined {
  for (let scope = name.parent; scope !== undefined; scope = scope.parent) {
    const declared = statementsOf(scope).flatMap((each) => {
      const declaration = each.type === "ExportNamedDeclaration" ? each.declaration : each;
      return declaration?.type === "VariableDeclaration" && declaration.kind === "const"
        ? declaration.declarations
        : [];
    });
    const found = declared.find(({ id }: Node) => id.name === name.name);
    if (found !== undefined) return found;
    if (isFunction(scope) && scope.params.some((each: Node) => each.name === name.name)) return undefined;
  }
  return undefined;
}
