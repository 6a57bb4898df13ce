/** Parts of states by path, whose sum is bounded. */
import { describe, expect, it } from "vitest";
import { extractPaths } from "../../../src/threads/api/search.ts";
import { WorkBudget } from "../../../src/lib/work-budget.ts";

const state = { values: { messages: [{ content: "a" }, { content: "b" }] } };

describe("extract", () => {
  it("gives what each path leads to", () => {
    const paths = { last: "values.messages[-1].content", none: "values.other[0]" };
    expect(extractPaths(state, paths, new WorkBudget("It", "Ask for less."))).toEqual({ last: "b", none: null });
  });

  it("refuses paths that repeat a long value", () => {
    const long = { values: { text: "x".repeat(1_000_000) } };
    const paths = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`p${i}`, "values"]));
    expect(() => extractPaths(long, paths, new WorkBudget("It", "Ask for less."))).toThrow("makes more than 8000000");
  });
});
