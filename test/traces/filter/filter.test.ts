import { describe, expect, it } from "vitest";
import { parseFilter } from "../../../src/traces/filter/filter.ts";
import { FilterProblem } from "../../../src/traces/filter/syntax.ts";
import { evaluate } from "../../support/evaluate-filter.ts";
import { EXPRESSIONS, FAULTS } from "../../support/filter-expressions.ts";
import { seeded } from "../../support/random.ts";
import { fillPartition, pick } from "../../support/random-trace-runs.ts";

const random = seeded("filter texts");

function findFault(text: string): number | "no fault" | "another error" {
  try {
    parseFilter(text);
    return "no fault";
  } catch (error) {
    return error instanceof FilterProblem ? error.position : "another error";
  }
}

describe("the filter language", () => {
  it(`gives the same runs as the plain evaluator, for ${EXPRESSIONS.length} expressions`, async () => {
    const { partition, runs } = await fillPartition();
    let proper = 0;
    for (const text of EXPRESSIONS) {
      const filter = parseFilter(text);
      const expected = runs
        .filter((run) => evaluate(filter, run))
        .map(({ id }) => id)
        .sort();
      const found = await partition.query({
        filter: text,
        order: "asc",
        after: null,
        limit: 1000,
        maxBytes: 1e9,
        payloads: [],
      });
      expect({ text, ids: found.runs.map(({ id }) => id).sort() }).toEqual({ text, ids: expected });
      if (expected.length > 0 && expected.length < runs.length) proper++;
    }
    expect(EXPRESSIONS.length).toBeGreaterThanOrEqual(120);
    // Most expressions separate runs, otherwise the comparison would prove little.
    expect(proper).toBeGreaterThan(110);
  });

  it(`names the position of the fault, in ${FAULTS.length} malformed filters`, () => {
    expect(FAULTS.length).toBeGreaterThanOrEqual(40);
    expect(FAULTS.map(([text]) => [text, findFault(text)])).toEqual(FAULTS);
  });

  it("survives any text", () => {
    const pieces = [
      "eq",
      "and",
      "(",
      ")",
      "[",
      "]",
      ",",
      '"',
      "'",
      "\\",
      "name",
      "1",
      "-",
      "e5",
      " ",
      "null",
      "é",
      "\u0000",
      "not(",
    ];
    const texts = Array.from({ length: 5_000 }, () =>
      Array.from({ length: random.between(0, 30) }, () => pick(random, pieces)).join(""),
    );
    expect(texts.filter((text) => findFault(text) === "another error")).toEqual([]);
  });
});
