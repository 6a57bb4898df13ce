import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configurationPage, PAGE } from "../../scripts/configuration.ts";

test("docs/configuration.md is what `npm run configuration` writes from the schema", () => {
  expect(readFileSync(PAGE, "utf8")).toBe(configurationPage());
});
