/** The built documentation: every page is there, and its files need no inline script and no inline style. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildDocs } from "../../scripts/build-page.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const SITE = join(ROOT, "dist", "web", "docs");
const read = (file: string) => readFileSync(join(SITE, file), "utf8");

describe("the documentation site", () => {
  beforeAll(buildDocs, 300_000);

  it("has a page for every document", () => {
    const built = readdirSync(SITE).filter((file) => file.endsWith(".html"));
    for (const file of readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md") && name !== "README.md")) {
      expect(built).toContain(file.replace(/\.md$/, ".html"));
    }
    expect(built).toContain("index.html");
  });

  it("has no inline script, no inline style and no handler in its markup", () => {
    const pages = readdirSync(SITE).filter((file) => file.endsWith(".html"));
    const markup = /<script(?![^>]* src=)|<style|<[a-z][^<>]* (style|on[a-z]+)=/;
    expect(pages.filter((file) => markup.test(read(file)))).toEqual([]);
  });

  it("loads scripts and styles of its own origin only", () => {
    const pages = readdirSync(SITE).filter((file) => file.endsWith(".html"));
    const loaded = pages.flatMap((file) =>
      [...read(file).matchAll(/<(?:script[^>]* src|link[^>]* href|img[^>]* src)="([^"]+)"/g)].map(([, path]) => path),
    );
    expect(loaded.length).toBeGreaterThan(pages.length);
    expect(loaded.filter((path) => !path?.startsWith("/") || path.startsWith("//"))).toEqual([]);
  });
});

it("only the API reference and the frame that draws diagrams may have inline styles", () => {
  const rules = readFileSync(join(ROOT, "packages", "web", "public", "_headers"), "utf8").split(/\n(?=\S)/);
  const loose = rules.filter((rule) => /unsafe-|content-security-policy:.*\*/i.test(rule.replace(/^#.*$/m, "")));
  expect(loose.map((rule) => rule.split("\n")[0])).toEqual(["/docs/reference", "/diagram"]);
  expect(loose.join()).not.toMatch(/script-src [^;]*unsafe/);
});
