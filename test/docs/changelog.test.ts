import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
/** It lists what there is, by part. */
const FIRST = "1.0.0";

it("CHANGELOG.md has every line in a section of a version, once", () => {
  const text = readFileSync(join(import.meta.dirname, "..", "..", "CHANGELOG.md"), "utf8");
  const [head = "", ...versions] = text.split(/^## /m);
  expect(head).not.toMatch(/^- /m);
  expect(versions[0]).toMatch(/^Unreleased\n/);
  expect(versions.at(-1)).toMatch(/^1\.0\.0\n/);
  for (const version of versions) {
    const [title = "", ...sections] = version.split(/^### /m);
    expect(title.trim()).toMatch(/^(Unreleased|\d+\.\d+\.\d+)$/);
    const kinds = sections.map((section) => section.split("\n")[0] ?? "");
    const isKind = (kind: string) => title.trim() === FIRST || KINDS.includes(kind);
    expect(kinds.filter((kind, i) => !isKind(kind) || kinds.indexOf(kind) !== i)).toEqual([]);
    const lines = sections.flatMap((section) => section.split("\n").slice(1)).filter((line) => line !== "");
    expect(lines.filter((line, i) => !line.startsWith("- ") || lines.indexOf(line) !== i)).toEqual([]);
  }
});
