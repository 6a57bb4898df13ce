/** The entries of inputs and outputs that filters find by key and value. */

/** The index limits of LangSmith: 100 entries of 250 characters a run and field. */
const MAX_PAIRS = 100;
export const MAX_VALUE = 250;
const MAX_NODES = 2_000;

/**
 * Every scalar of a JSON value with its dotted path; arrays add nothing to the path (`messages.content`).
 * Breadth is bounded, so that a huge payload costs no more than a large one.
 */
export function flattenPairs(value: unknown): [path: string, text: string][] {
  const pairs: [string, string][] = [];
  let nodes = 0;
  const visit = (node: unknown, path: string): void => {
    if (pairs.length >= MAX_PAIRS || nodes++ > MAX_NODES || node === undefined) return;
    if (typeof node !== "object" || node === null) {
      if (path !== "") pairs.push([path, (typeof node === "string" ? node : JSON.stringify(node)).slice(0, MAX_VALUE)]);
      return;
    }
    if (path.length > 500) return;
    if (Array.isArray(node)) for (const item of node) visit(item, path);
    else for (const [key, item] of Object.entries(node)) visit(item, path === "" ? key : `${path}.${key}`);
  };
  visit(value, "");
  return pairs;
}

/** A copy of a JSON value small enough to keep beside a payload that lies in R2, for search and lists. */
export function preview(value: unknown): unknown {
  let left = 400;
  const clip = (node: unknown, depth: number): unknown => {
    if (left-- <= 0 || depth > 8) return null;
    if (typeof node === "string") return node.slice(0, MAX_VALUE);
    if (Array.isArray(node)) return node.slice(0, 50).map((item) => clip(item, depth + 1));
    if (typeof node !== "object" || node === null) return node;
    return Object.fromEntries(
      Object.entries(node)
        .slice(0, 50)
        .map(([key, item]) => [key.slice(0, MAX_VALUE), clip(item, depth + 1)]),
    );
  };
  return clip(value, 0);
}
