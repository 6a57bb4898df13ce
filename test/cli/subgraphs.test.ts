/** The subgraphs that the source of a graph's file names. */
import { expect, it } from "vitest";
import { subgraphsIn } from "../../src/cli/schema-extract.ts";

const findSubgraphs = (text: string, name = "graph") =>
  Object.fromEntries(subgraphsIn("graphs.ts", text, name).map(({ namespace, variable }) => [namespace, variable]));

const INNER = `const leaf = new StateGraph(Leaf).compile();
const inner = new StateGraph(Inner).addNode("leaf", leaf).addNode("other", (s: S) => s);\n`;

it.each([
  [
    "in one expression",
    `export const graph = new StateGraph(S).addNode("a", inner.compile()).addEdge("a", END).compile();`,
  ],
  ["in statements", `const flow = new StateGraph(S);\nflow.addNode("a", inner);\nexport const graph = flow.compile();`],
  [
    "in a function",
    `export const graph = async () => { const made = new StateGraph(S).addNode("a", inner); return made; };`,
  ],
  ["in a declared function", `export function graph() { return new StateGraph(S).addNode("a", inner).compile(); }`],
  ["under another name", `const flow = new StateGraph(S).addNode("a", inner);\nexport { flow as graph };`],
])("are found %s", (_where, text) => {
  expect(findSubgraphs(INNER + text)).toEqual({ a: "inner", "a|leaf": "leaf" });
});

it("are found in a default export", () => {
  expect(
    findSubgraphs(`${INNER}export default new StateGraph(S).addNode("a", inner).compile();`, "default"),
  ).toMatchObject({
    a: "inner",
  });
});

it("are those of this graph only", () => {
  const text = `${INNER}export const other = new StateGraph(S).addNode("b", inner);\nexport const graph = new StateGraph(S).compile();`;
  expect(findSubgraphs(text)).toEqual({});
});

it("end where a graph contains itself", () => {
  const levels = Object.keys(findSubgraphs(`export const graph = new StateGraph(S).addNode("a", graph).compile();`));
  expect(levels).toEqual(["a", "a|a", "a|a|a", "a|a|a|a", "a|a|a|a|a"]);
});
