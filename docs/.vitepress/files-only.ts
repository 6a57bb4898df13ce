/** What keeps the site's pages free of inline scripts and inline styles, which Weir's content policy refuses. */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MarkdownRenderer, SiteConfig } from "vitepress";

const INLINE = /<script( [^>]*)?>([^<]+)<\/script>/g;

/** Gives the cells of a table a class for their alignment, in place of a `style` attribute. */
export function alignedByClass(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("aligned-by-class", ({ tokens }) => {
    for (const token of tokens) {
      const [, side] = /^text-align:(\w+)$/.exec(token.attrGet("style") ?? "") ?? [];
      if (side) token.attrs = [["class", `align-${side}`]];
    }
  });
}

/**
 * Moves the inline scripts of a page to files beside its other assets, and drops its `style` attributes (style.css has what
 * matters of them). The scripts stay blocking, so that a dark page does not flash light.
 */
export function filesOnly(html: string, _page: string, { siteConfig }: { siteConfig: SiteConfig }): string {
  const { outDir, assetsDir, site } = siteConfig;
  return html
    .replace(INLINE, (_all, _attributes: string | undefined, script: string) => {
      const name = `inline.${createHash("sha256").update(script).digest("hex").slice(0, 8)}.js`;
      mkdirSync(join(outDir, assetsDir), { recursive: true });
      writeFileSync(join(outDir, assetsDir, name), script);
      return `<script src="${site.base}${assetsDir}/${name}"></script>`;
    })
    .replaceAll(/(<[a-z][^<>]*?) style="[^"]*"/g, "$1");
}
