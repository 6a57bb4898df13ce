/** The graphs that a graph has as nodes, read from the source of its file: their types are not in the type of the graph. */
import TJS, { type ts as TS } from "typescript-json-schema";

const { ts } = TJS;
type Node = TS.Node;

/** A node that is a graph: its namespace, such as `outer|inner`, and the variable of the file that holds it. */
export interface Subgraph {
  namespace: string;
  variable: string;
}

/** `owner`: the variable of the graph that has the node. */
interface Added {
  owner: string;
  node: string;
  variable: string;
}

/** The deepest graphs that are found. */
const MOST_LEVELS = 5;

/** The subgraphs of an exported graph. A node that is a function is among them, since only its type shows what it is. */
export function subgraphsIn(file: string, text: string, exported: string): Subgraph[] {
  const { added, mentions } = readSource(file, text);
  const under = (variable: string, path: string[]): Subgraph[] => {
    const owners = findReached(variable, mentions);
    return added
      .filter(({ owner }) => path.length < MOST_LEVELS && owners.has(owner))
      .flatMap((one) => {
        const own = [...path, one.node];
        return [{ namespace: own.join("|"), variable: one.variable }, ...under(one.variable, own)];
      });
  };
  return under(exported, []);
}

/** Calls of `addNode`, and for each variable or function those that it mentions outside of its nodes. */
function readSource(file: string, text: string): { added: Added[]; mentions: Map<string, Set<string>> } {
  const added: Added[] = [];
  const mentions = new Map<string, Set<string>>();
  const mention = (by: string, name: string) => mentions.set(by, (mentions.get(by) ?? new Set()).add(name));
  const visit = (node: Node, within: string): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression, name } = node.expression;
      if (name.text === "addNode") {
        const [called, graph] = node.arguments;
        const variable = graph && findBase(graph);
        if (called && ts.isStringLiteralLike(called) && variable !== undefined)
          added.push({ owner: findBase(expression) ?? within, node: called.text, variable });
        return visit(expression, within);
      }
    }
    if (ts.isIdentifier(node)) mention(within, node.text);
    if (ts.isExportSpecifier(node)) mention(node.name.text, (node.propertyName ?? node.name).text);
    const own = declaredName(node) ?? within;
    if (own !== within) mention(within, own);
    ts.forEachChild(node, (child) => visit(child, own));
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), "");
  return { added, mentions };
}

/** The name under which others use what this node declares. */
function declaredName(node: Node): string | undefined {
  if (ts.isExportAssignment(node)) return "default";
  if (ts.isFunctionDeclaration(node)) return node.name?.text ?? "default";
  return ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) ? node.name.text : undefined;
}

/** The variable that an expression begins with: `inner` of `inner.compile()`. */
function findBase(node: Node): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  const isWrapped =
    ts.isCallExpression(node) ||
    ts.isPropertyAccessExpression(node) ||
    ts.isParenthesizedExpression(node) ||
    ts.isAwaitExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isNonNullExpression(node);
  return isWrapped ? findBase(node.expression) : undefined;
}

/** The variable, and all that it mentions, directly or not. */
function findReached(variable: string, mentions: Map<string, Set<string>>): Set<string> {
  const found = new Set([variable]);
  for (const name of found) for (const next of mentions.get(name) ?? []) found.add(next);
  return found;
}
