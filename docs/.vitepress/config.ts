/**
 * The documentation site: docs/*.md as static files under /docs, with a search that runs in the browser.
 *
 * Weir serves it under `script-src 'self'; style-src 'self'`, so the output has no inline script and no inline style:
 * code is highlighted with classes, and `files-only.ts` moves the generator's inline scripts to a file.
 */
import { join } from "node:path";
import { defineConfig } from "vitepress";
import { alignedByClass, filesOnly } from "./files-only.ts";
import { highlight } from "./highlight.ts";
import { checkAnchors, linksWithinDocs, slug } from "./links.ts";
import { HOME, sidebar } from "./pages.ts";
import { writeViewer } from "./reference.ts";

const ROOT = join(import.meta.dirname, "..", "..");

export default defineConfig({
  title: "Weir",
  description: "Documentation of Weir: agent server and trace platform on Cloudflare Workers.",
  lang: "en",
  base: "/docs/",
  outDir: join(ROOT, "dist", "web", "docs"),
  cacheDir: join(ROOT, "node_modules", ".cache", "vitepress"),
  rewrites: { [HOME]: "index.md" },
  cleanUrls: true,
  metaChunk: true,
  // Each picture is a file, so the site loads from its own paths only.
  vite: { build: { assetsInlineLimit: 0 } },
  // Without transitions being disabled for the switch, which is done with an inline style.
  appearance: { disableTransition: false },
  head: [["link", { rel: "icon", href: "/favicon.svg", type: "image/svg+xml" }]],
  markdown: {
    highlight,
    anchor: { slugify: slug },
    config: (markdown) => void markdown.use(linksWithinDocs).use(alignedByClass),
  },
  transformHtml: filesOnly,
  buildEnd: (site) => {
    checkAnchors(site);
    writeViewer(site.outDir);
  },
  themeConfig: {
    nav: [{ text: "API reference", link: "/reference", target: "_self" }],
    sidebar: sidebar(),
    outline: "deep",
    search: { provider: "local" },
  },
});
