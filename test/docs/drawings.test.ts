import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { drawings, listUpward } from "../../scripts/drawings/main.ts";

it("the drawings in docs/drawings are those of the code (npm run drawings)", () => {
  for (const [name, text] of Object.entries(drawings())) {
    const stored = readFileSync(join(import.meta.dirname, "..", "..", "docs", "drawings", name), "utf8");
    expect(stored === text, `${name} is stale: run npm run drawings`).toBe(true);
  }
});

it("no part of a folder imports one above it, in any folder of the server, the CLI and the page", () => {
  expect(listUpward()).toEqual([]);
});

it("finds an arrow that points up inside of a folder", () => {
  const src = mkdtempSync(join(tmpdir(), "weir-drawings-"));
  const files = {
    "a/rows.ts": 'import { top } from "./top/top.ts";\n',
    "a/top/top.ts": 'import { rows } from "../rows.ts";\nimport { other } from "./other.ts";\n',
    "a/top/other.ts": "export const other = 1;\n",
    "b.ts": 'import { top } from "./a/top/top.ts";\n',
  };
  try {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(src, file)), { recursive: true });
      writeFileSync(join(src, file), text);
    }
    const found = listUpward([src]);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/\/a: (rows\.ts -> top|top -> rows\.ts)$/);
  } finally {
    rmSync(src, { recursive: true });
  }
});
