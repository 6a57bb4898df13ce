import { describe, expect, it } from "vitest";
import { addCost, priceTable } from "../../../src/limits/prices/prices.ts";

const usage = { prompt_tokens: 1_000_000, completion_tokens: 0, total_tokens: 1_000_000 };
const cost = (table: string | undefined, model: string) =>
  addCost(usage, { ls_provider: "openai", ls_model_name: model }, priceTable(table)).total_cost;

it("a deployment's own prices come before the built-in ones; what is no price is left out", () => {
  const own = [
    { model: "gpt-4o", input: 7, output: 0 },
    { model: "house-.*", provider: "openai", input: 3, output: 0 },
    { model: "other", provider: "elsewhere", input: 5, output: 0 },
    { model: "broken", input: "1", output: 0 },
    { model: "(", input: 1, output: 0 },
    null,
  ];
  const models = ["gpt-4o", "gpt-4o-mini", "house-1", "other", "broken"];
  expect(models.map((model) => cost(JSON.stringify(own), model))).toEqual([7, 0.15, 3, undefined, undefined]);
  for (const table of [undefined, "", "{", "{}"]) expect(cost(table, "gpt-4o")).toBe(2.5);
});

describe("tokens with a price of their own", () => {
  const million = 1_000_000;
  const whole = { prompt_tokens: million, completion_tokens: million, total_tokens: 2 * million };
  const prices = [
    {
      model: "priced",
      input: 1,
      output: 10,
      cached_input: 0.1,
      cache_write: 2,
      audio_input: 5,
      audio_output: 50,
      reasoning: 20,
    },
    { model: "plain*", input: 1, output: 10 },
  ];
  const costs = (model: string, prompt: Record<string, number>, completion: Record<string, number>) => {
    const usage = { ...whole, prompt_token_details: prompt, completion_token_details: completion };
    const { prompt_cost, completion_cost, total_cost } = addCost(
      usage,
      { ls_model_name: model },
      priceTable("", prices),
    );
    expect(total_cost).toBeCloseTo((prompt_cost ?? 0) + (completion_cost ?? 0), 9);
    return [prompt_cost, completion_cost];
  };
  const half = million / 2;
  const cases: [string, Record<string, number>, Record<string, number>, number, number][] = [
    ["none", {}, {}, 1, 10],
    ["from a cache", { cache_read: half }, {}, 0.55, 10],
    ["to a cache", { cache_creation: half }, {}, 1.5, 10],
    ["audio", { audio: half }, { audio: half }, 3, 30],
    ["reasoning", {}, { reasoning: half }, 1, 15],
    ["all", { cache_read: half, cache_creation: half / 2, audio: half / 2 }, { audio: half, reasoning: half }, 1.8, 35],
    ["more than there are", { cache_read: 3 * million, audio: million }, { reasoning: 9 * million }, 0.1, 20],
  ];
  it.each(cases)("%s", (_, prompt, completion, input, output) => {
    expect(costs("priced", prompt, completion)).toEqual([input, output]);
    expect(costs("plain-2.5", prompt, completion)).toEqual([1, 10]);
  });

  it("names of a workspace are no expressions, and match whole names or their beginning", () => {
    const own = [
      { model: "a.b", input: 1, output: 1 },
      { model: "c*", input: 2, output: 2 },
    ];
    const table = priceTable("", own);
    const cost = (model: string) => addCost(whole, { ls_model_name: model }, table).total_cost;
    expect(["a.b", "axb", "a.bc", "c", "cd", "xc"].map(cost)).toEqual([2, undefined, undefined, 4, 4, undefined]);
  });
});
