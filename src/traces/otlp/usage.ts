/** Tokens and costs that a span reports, under the names of each convention. */
import { isObject } from "../../lib/json.ts";
import { parseValue } from "./flat.ts";
import type { Attributes } from "./span.ts";

/** The names of each count, of which the first that is a number counts. */
type Names = Record<string, readonly string[]>;

const COUNTS: Names = {
  input_tokens: [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "llm.usage.prompt_tokens",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "ai.usage.tokens",
  ],
  output_tokens: [
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "llm.usage.completion_tokens",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
  ],
  total_tokens: [
    "gen_ai.usage.total_tokens",
    "llm.token_count.total",
    "llm.usage.total_tokens",
    "ai.usage.totalTokens",
  ],
  // US dollars.
  input_cost: ["llm.cost.prompt", "gen_ai.usage.input_cost"],
  output_cost: ["llm.cost.completion", "gen_ai.usage.output_cost"],
  total_cost: ["llm.cost.total", "gen_ai.usage.cost", "gen_ai.usage.total_cost"],
};

const INPUT_DETAILS: Names = {
  cache_read: [
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "ai.usage.cachedInputTokens",
  ],
  cache_creation: [
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.token_count.prompt_details.cache_write",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
  ],
  audio: ["gen_ai.usage.audio.input_tokens", "llm.token_count.prompt_details.audio"],
  image: ["gen_ai.usage.image.input_tokens"],
};

const OUTPUT_DETAILS: Names = {
  reasoning: [
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.outputTokenDetails.reasoningTokens",
    "ai.usage.reasoningTokens",
  ],
  audio: ["gen_ai.usage.audio.output_tokens", "llm.token_count.completion_details.audio"],
  image: ["gen_ai.usage.image.output_tokens"],
};

/** The `usage_metadata` of a span; undefined when it reports no tokens and no costs. */
export function readUsage(attributes: Attributes): object | undefined {
  const stated = parseValue(attributes["langsmith.usage_metadata"]);
  if (isObject(stated)) return stated;
  const counts = readNumbers(attributes, COUNTS);
  if (counts === undefined) return undefined;
  const input_token_details = readNumbers(attributes, INPUT_DETAILS);
  const output_token_details = readNumbers(attributes, OUTPUT_DETAILS);
  return {
    ...counts,
    ...(input_token_details && { input_token_details }),
    ...(output_token_details && { output_token_details }),
  };
}

function readNumbers(attributes: Attributes, names: Names): Record<string, unknown> | undefined {
  const found = Object.entries(names).flatMap(([key, ways]) => {
    const value = ways.map((name) => attributes[name]).find((one) => typeof one === "number");
    return value === undefined ? [] : [[key, value] as const];
  });
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}
