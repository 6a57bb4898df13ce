/** What a model call costs: prices by provider and model name, which a deployment can extend. */
import * as v from "valibot";
import { parseJson } from "../../http/json.ts";
import { logError } from "../../http/log.ts";
import { roundCost } from "./cost.ts";
import type { Usage } from "./usage.ts";

const Price = v.object({
  /** `ls_provider`; absent matches any. */
  provider: v.optional(v.string()),
  /** Matches the whole of `ls_model_name`, a regular expression. */
  model: v.string(),
  /** US dollars for a million tokens. */
  input: v.number(),
  output: v.number(),
  cached_input: v.optional(v.number()),
});
type Price = v.InferOutput<typeof Price>;

export type PriceTable = { price: Price; pattern: RegExp }[];

/** List prices of widely used models; the first match counts. Newer or own prices go into the TRACE_PRICES variable. */
const PRICES: Price[] = [
  { provider: "openai", model: "gpt-4o-mini(-.*)?", input: 0.15, output: 0.6, cached_input: 0.075 },
  { provider: "openai", model: "gpt-4o(-.*)?", input: 2.5, output: 10, cached_input: 1.25 },
  { provider: "openai", model: "gpt-4\\.1-nano(-.*)?", input: 0.1, output: 0.4, cached_input: 0.025 },
  { provider: "openai", model: "gpt-4\\.1-mini(-.*)?", input: 0.4, output: 1.6, cached_input: 0.1 },
  { provider: "openai", model: "gpt-4\\.1(-.*)?", input: 2, output: 8, cached_input: 0.5 },
  { provider: "openai", model: "gpt-5-nano(-.*)?", input: 0.05, output: 0.4, cached_input: 0.005 },
  { provider: "openai", model: "gpt-5-mini(-.*)?", input: 0.25, output: 2, cached_input: 0.025 },
  { provider: "openai", model: "gpt-5(-.*)?", input: 1.25, output: 10, cached_input: 0.125 },
  { provider: "openai", model: "(o3-mini|o4-mini)(-.*)?", input: 1.1, output: 4.4, cached_input: 0.275 },
  { provider: "openai", model: "o3(-.*)?", input: 2, output: 8, cached_input: 0.5 },
  { provider: "openai", model: "text-embedding-3-small", input: 0.02, output: 0 },
  { provider: "openai", model: "text-embedding-3-large", input: 0.13, output: 0 },
  { provider: "anthropic", model: "claude-.*haiku-4.*", input: 1, output: 5, cached_input: 0.1 },
  { provider: "anthropic", model: "claude-3-5-haiku.*", input: 0.8, output: 4, cached_input: 0.08 },
  { provider: "anthropic", model: "claude-.*sonnet.*", input: 3, output: 15, cached_input: 0.3 },
  { provider: "anthropic", model: "claude-opus-4-5.*", input: 5, output: 25, cached_input: 0.5 },
  { provider: "anthropic", model: "claude-.*opus.*", input: 15, output: 75, cached_input: 1.5 },
  { model: "gemini-2\\.5-flash-lite.*", input: 0.1, output: 0.4, cached_input: 0.01 },
  { model: "gemini-2\\.5-flash.*", input: 0.3, output: 2.5, cached_input: 0.03 },
  { model: "gemini-2\\.5-pro.*", input: 1.25, output: 10, cached_input: 0.125 },
];

let compiled: { source: string; table: PriceTable } | undefined;

/**
 * The table with the deployment's own prices first. `TRACE_PRICES` is a JSON list of `Price`; entries that are none
 * are left out, for a wrong price must not stop traces from being stored.
 */
export function priceTable(variable: string | undefined): PriceTable {
  const source = variable ?? "";
  if (compiled?.source === source) return compiled.table;
  const table = [...ownPrices(source), ...PRICES].flatMap((price) => {
    try {
      return [{ price, pattern: new RegExp(`^(?:${price.model})$`, "i") }];
    } catch {
      return [];
    }
  });
  compiled = { source, table };
  return table;
}

function ownPrices(source: string): Price[] {
  if (source === "") return [];
  const list = parseJson(source);
  if (Array.isArray(list)) return list.filter((one) => v.is(Price, one));
  logError("TRACE_PRICES is not a JSON list; it is left out.");
  return [];
}

/** The usage with its costs: as reported, else by the table, else without. */
export function addCost(usage: Usage, metadata: Record<string, unknown>, table: PriceTable): Usage {
  if (usage.total_cost !== undefined) return usage;
  if (usage.prompt_cost !== undefined || usage.completion_cost !== undefined) {
    return { ...usage, total_cost: roundCost((usage.prompt_cost ?? 0) + (usage.completion_cost ?? 0)) };
  }
  const price = priceOf(metadata, table);
  if (!price) return usage;
  const cached = Math.min(usage.prompt_token_details?.["cache_read"] ?? 0, usage.prompt_tokens);
  const prompt = (usage.prompt_tokens - cached) * price.input + cached * (price.cached_input ?? price.input);
  const prompt_cost = dollars(prompt);
  const completion_cost = dollars(usage.completion_tokens * price.output);
  return {
    ...usage,
    prompt_cost,
    completion_cost,
    total_cost: dollars(prompt + usage.completion_tokens * price.output),
  };
}

/** From dollars for a million tokens; rounded to 12 places, so that sums print as people expect. */
function dollars(millionfold: number): number {
  return Number((millionfold / 1e6).toFixed(12));
}

function priceOf(metadata: Record<string, unknown>, table: PriceTable): Price | undefined {
  const { ls_model_name: model, ls_provider: provider } = metadata;
  if (typeof model !== "string") return undefined;
  const name = model.slice(0, 200);
  return table.find(
    ({ price, pattern }) => (price.provider === undefined || price.provider === provider) && pattern.test(name),
  )?.price;
}
