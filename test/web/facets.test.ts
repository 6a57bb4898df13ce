import { describe, expect, it } from "vitest";
import { parseFilter } from "../../src/traces/filter/filter.ts";
import { readFacets, writeConditions } from "../../packages/web/traces/runs/facets.ts";

describe("the facets of the list of traces", () => {
  it("are conditions that the trace API reads, together with a filter that was written", () => {
    const chosen = readFacets(
      new URLSearchParams({
        status: "error",
        name: 'a "quoted" name',
        tag: "vip",
        user: "u-1",
        feedback: "correct>=0.5",
        latency: "5s",
        model: "gpt-5",
        peek: "no facet",
      }),
    );
    const { filter = "", tree_filter: tree = "" } = writeConditions(chosen, 'eq(run_type, "chain")');
    expect(filter).toBe(
      'and(eq(run_type, "chain"), eq(status, "error"), eq(name, "a \\"quoted\\" name"), has(tags, "vip"), ' +
        'and(eq(metadata_key, "user_id"), eq(metadata_value, "u-1")), ' +
        'and(eq(feedback_key, "correct"), gte(feedback_score, 0.5)), gt(latency, "5s"))',
    );
    expect(tree).toBe('and(eq(metadata_key, "ls_model_name"), eq(metadata_value, "gpt-5"))');
    expect(() => [parseFilter(filter), parseFilter(tree)]).not.toThrow();
  });

  it("leave one condition as it is, and none out", () => {
    expect(writeConditions({ feedback: "mood<-1.5" }, "").filter).toBe(
      'and(eq(feedback_key, "mood"), lt(feedback_score, -1.5))',
    );
    expect(writeConditions({ feedback: "mood" }, "").filter).toBe('eq(feedback_key, "mood")');
    expect(writeConditions({}, "")).toEqual({});
  });
});
