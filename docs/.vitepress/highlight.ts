/** Colours code with classes. The generator's own highlighter writes `style` attributes, which the content policy refuses. */
import highlighter from "highlight.js/lib/common";

const escape = (text: string) =>
  text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign] ?? sign);

/** The HTML of one block of code. A reader without a mouse scrolls it by its tab index. `v-pre` keeps `{{ }}` in it from being read as a template. */
export function highlight(code: string, language: string): string {
  const known = highlighter.getLanguage(language) !== undefined;
  const text = code.replace(/\n$/, "");
  const html = known ? highlighter.highlight(text, { language, ignoreIllegals: true }).value : escape(text);
  return `<pre class="code" tabindex="0" v-pre><code>${html}</code></pre>`;
}
