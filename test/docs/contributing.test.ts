/** The paths that CONTRIBUTING.md and AGENTS.md send a reader to exist. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

/** Paths in code, and after a folder the files of it that follow: `src/a/`: `b.ts`, `c.ts`. Patterns are left out. */
function pathsIn(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    let folder = "";
    return [...line.matchAll(/`([\w./-]+)`/g)].flatMap(([, path = ""]) => {
      if (/^(src|test|docs|examples|packages)\//.test(path)) {
        folder = path.endsWith("/") ? path : `${dirname(path)}/`;
        return [path];
      }
      return /^[\w-]+\.ts$/.test(path) && folder ? [folder + path] : [];
    });
  });
}

it.each(["CONTRIBUTING.md", "AGENTS.md"])("every path in %s exists", (file) => {
  const text = readFileSync(join(ROOT, file), "utf8");
  const rows = text.split("\n").filter((line) => /^[|-]/.test(line));
  const paths = pathsIn(rows.join("\n"));
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = ""]) => link);
  expect(links.filter((link) => !existsSync(join(ROOT, link)))).toEqual([]);
});
