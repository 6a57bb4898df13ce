/** Formulas, loaded with the first text that has one. KaTeX runs no code of the text (`trust` is off). */
import "katex/dist/katex.min.css";
import type { Options } from "react-markdown";
import rehypeKatex from "rehype-katex";
import remarkMath from "remark-math";

type Plugins = NonNullable<Options["remarkPlugins"]>;

export const remark: Plugins[number] = [remarkMath, { singleDollarTextMath: false }];
export const rehype: Plugins[number] = [
  rehypeKatex,
  { output: "html", throwOnError: false, strict: false, maxExpand: 200, maxSize: 20 },
];
