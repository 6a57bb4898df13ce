import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { drawings } from "../../scripts/drawings/main.ts";

it("the drawings in docs/drawings are those of the code (npm run drawings)", () => {
  for (const [name, text] of Object.entries(drawings().files)) {
    const stored = readFileSync(join(import.meta.dirname, "..", "..", "docs", "drawings", name), "utf8");
    expect(stored === text, `${name} is stale: run npm run drawings`).toBe(true);
  }
});

it("no folder imports one above it", () => {
  expect(drawings().up).toEqual([]);
});
