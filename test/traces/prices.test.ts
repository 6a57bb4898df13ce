import { expect, it } from "vitest";
import { addCost, priceTable } from "../../src/traces/usage/prices.ts";

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
