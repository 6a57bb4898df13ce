/** The files that only a soak runs, and those that `npm test` runs in their place, exist. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SLOW } from "../../scripts/tests/slow.ts";

const isThere = (file: string) => existsSync(join(import.meta.dirname, "..", "..", file.replace("/**/*.test.ts", "")));

it("each slow file exists, and what runs in its place exists and is not slow", () => {
  const files = Object.keys(SLOW);
  const instead = Object.values(SLOW);
  expect([...files, ...instead].filter((file) => !isThere(file))).toEqual([]);
  expect(instead.filter((file) => files.includes(file))).toEqual([]);
});
