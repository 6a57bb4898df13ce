/**
 * Formulas, loaded with the first text that has one. As MathML, which browsers draw: the HTML of KaTeX has style attributes,
 * which the page's Content-Security-Policy refuses. KaTeX runs no code of the text (`trust` is off).
 */
import type { Options } from "react-markdown";
import rehypeKatex from "rehype-katex";
import remarkMath from "remark-math";

type Plugins = NonNullable<Options["remarkPlugins"]>;

export const remark: Plugins[number] = [remarkMath, { singleDollarTextMath: false }];
export const rehype: Plugins[number] = [
  rehypeKatex,
  { output: "mathml", throwOnError: false, strict: false, maxExpand: 200, maxSize: 20 },
];
