/** The direction of text is that of its first letters, in each block apart: an Arabic answer may have a paragraph in English. */

/** The part of a tree of HTML elements that this file reads. */
interface Node {
  type: string;
  tagName?: string;
  properties?: Record<string, unknown>;
  children?: Node[];
}

const BLOCKS = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "td", "th"]);

/** A plugin of rehype that sets `dir="auto"` on blocks of text. Code keeps its direction. */
export const autoDirection = () => (tree: Node) => mark(tree);

function mark(node: Node): void {
  if (node.tagName !== undefined && BLOCKS.has(node.tagName)) node.properties = { ...node.properties, dir: "auto" };
  if (node.tagName === "pre") return;
  for (const child of node.children ?? []) mark(child);
}
