/** The direction of blocks of text. */
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import { expect, it } from "vitest";
import { autoDirection } from "../../packages/web/chat/turn/direction.ts";

it("is that of the text of each block, and code keeps its own", () => {
  const text = "مرحبا\n\nHello\n\n- שלום\n- one\n\n> سطر\n\n```\nlet x = 1;\n```\n";
  const html = renderToStaticMarkup(createElement(ReactMarkdown, { rehypePlugins: [autoDirection] }, text));
  expect(html.match(/<(p|ul|li|blockquote) dir="auto">/g)).toHaveLength(7);
  expect(html).toContain("<pre><code>");
});
