/** Links of the documents: those that leave docs/ become text on the site, and a heading that does not exist fails the build. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { MarkdownRenderer, SiteConfig } from "vitepress";

const DOCS = join(import.meta.dirname, "..");

/** A heading's id, as code hosts make it, so that a link to a heading works there and on the site. */
export const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .trim()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");

/**
 * Links to files outside of docs/ (`../test/…`) lead somewhere in the repository, not on the site: the site shows their text.
 * Throws if such a file does not exist.
 */
export function linksWithinDocs(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("links-within-docs", ({ tokens, env }) => {
    const folder = dirname((env as { path: string }).path);
    for (const { children } of tokens) {
      let outside = false;
      for (const token of children ?? []) {
        const href = token.attrGet("href") ?? "";
        if (token.type === "link_open" && !/^[a-z]+:|^#|^\//.test(href)) {
          const file = resolve(folder, href.replace(/#.*$/, ""));
          outside = relative(DOCS, file).startsWith("..");
          if (!existsSync(file)) throw new Error(`${relative(DOCS, (env as { path: string }).path)}: no file ${href}.`);
        }
        if (!outside || !/^link_(open|close)$/.test(token.type)) continue;
        outside = token.type === "link_open";
        token.tag = "span";
        token.attrs = null;
      }
    }
  });
}

/** Throws if a link of a built page leads to a heading that its page does not have. */
export function checkAnchors({ outDir, site }: SiteConfig): void {
  const pages = new Map(
    readdirSync(outDir)
      .filter((file) => file.endsWith(".html"))
      .map((file) => [file.replace(/(index)?\.html$/, ""), readFileSync(join(outDir, file), "utf8")]),
  );
  const dead: string[] = [];
  for (const [page, html] of pages) {
    const here = new URL(`http://site${site.base}${page}`);
    for (const [, href = ""] of html.matchAll(/<a [^>]*href="([^"]*#[^"]+)"/g)) {
      const { origin, pathname, hash } = new URL(href, here);
      if (origin !== here.origin) continue;
      const target = pages.get(pathname.slice(site.base.length));
      if (!target?.includes(` id="${decodeURIComponent(hash.slice(1))}"`)) dead.push(`${page}: ${href}`);
    }
  }
  if (dead.length > 0) throw new Error(`Links to headings that do not exist:\n${dead.join("\n")}`);
}
