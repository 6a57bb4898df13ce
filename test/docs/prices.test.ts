/** docs/prices.md shows the table of prices that costs are computed from. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PAGE, prices } from "../../scripts/prices.ts";

it("docs/prices.md is current (node scripts/prices.ts writes it)", () => {
  expect(readFileSync(PAGE, "utf8")).toBe(prices());
});
