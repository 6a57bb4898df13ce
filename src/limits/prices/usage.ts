/** Token counts and costs that a run reports about itself. */
import { isObject } from "../../lib/json.ts";
import { roundCost } from "./price-list.ts";

/** Counts by names that come from outside, such as `constructor` and `__proto__`. */
export type UsageCounts = Record<string, number>;

/** Adds to the count of a name, as an own property. */
export function addCount(counts: UsageCounts, name: string, more: number): void {
  const value = (Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0) + more;
  Object.defineProperty(counts, name, { value, configurable: true, enumerable: true, writable: true });
}

/** The most kinds of tokens in the sum of many runs. */
const MAX_DETAILS = 100;

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_token_details?: Record<string, number>;
  completion_token_details?: Record<string, number>;
  /** US dollars, when the sender computed them. */
  prompt_cost?: number;
  completion_cost?: number;
  total_cost?: number;
  prompt_cost_details?: Record<string, number>;
  completion_cost_details?: Record<string, number>;
}

/** The usage in `usage_metadata` of outputs or metadata. */
export function statedUsage(value: unknown): Usage | undefined {
  return fromUsageMetadata(readMember(value, "usage_metadata"));
}

/** The usage in LangChain's `generations`, or in the legacy `llm_output.token_usage`. */
export function derivedUsage(outputs: unknown): Usage | undefined {
  const legacy = readMember(outputs, "llm_output");
  return (
    fromGenerations(readMember(outputs, "generations")) ??
    fromTokenUsage(readMember(legacy, "token_usage") ?? readMember(legacy, "tokenUsage"))
  );
}

function fromUsageMetadata(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  return usage(value["input_tokens"], value["output_tokens"], value["total_tokens"], {
    prompt_token_details: details(value["input_token_details"], count),
    completion_token_details: details(value["output_token_details"], count),
    prompt_cost_details: details(value["input_cost_details"], amount),
    completion_cost_details: details(value["output_cost_details"], amount),
    prompt_cost: amount(value["input_cost"]),
    completion_cost: amount(value["output_cost"]),
    total_cost: amount(value["total_cost"]),
  });
}

/** `generations[][].message[.kwargs].usage_metadata`, summed. */
function fromGenerations(value: unknown): Usage | undefined {
  if (!Array.isArray(value)) return undefined;
  let sum: Usage | undefined;
  for (const generation of value.flat()) {
    const message = readMember(generation, "message");
    const found = fromUsageMetadata(
      readMember(message, "usage_metadata") ?? readMember(readMember(message, "kwargs"), "usage_metadata"),
    );
    if (found) sum = sum ? addUsage(sum, found) : found;
  }
  return sum;
}

function fromTokenUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  return usage(
    value["prompt_tokens"] ?? value["promptTokens"],
    value["completion_tokens"] ?? value["completionTokens"],
    value["total_tokens"] ?? value["totalTokens"],
    {},
  );
}

function usage(prompt: unknown, completion: unknown, total: unknown, more: Partial<Usage>): Usage | undefined {
  const given = [prompt, completion, total].map(count);
  const costs = [more.prompt_cost, more.completion_cost, more.total_cost];
  if ([...given, ...costs].every((value) => value === undefined)) return undefined;
  const prompt_tokens = given[0] ?? 0;
  const completion_tokens = given[1] ?? 0;
  return { prompt_tokens, completion_tokens, total_tokens: given[2] ?? prompt_tokens + completion_tokens, ...more };
}

/** The sum of two usages, details by name. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    prompt_token_details: addDetails(a.prompt_token_details, b.prompt_token_details),
    completion_token_details: addDetails(a.completion_token_details, b.completion_token_details),
    prompt_cost_details: addCostDetails(a.prompt_cost_details, b.prompt_cost_details),
    completion_cost_details: addCostDetails(a.completion_cost_details, b.completion_cost_details),
    prompt_cost: addAmounts(a.prompt_cost, b.prompt_cost),
    completion_cost: addAmounts(a.completion_cost, b.completion_cost),
    total_cost: addAmounts(a.total_cost, b.total_cost),
  };
}

function addDetails(a?: Record<string, number>, b?: Record<string, number>): Record<string, number> | undefined {
  if (!a || !b) return a ?? b;
  const sum = { ...a };
  let names = Object.keys(sum).length;
  for (const [name, value] of Object.entries(b)) {
    if (!Object.hasOwn(sum, name) && names++ >= MAX_DETAILS) continue;
    addCount(sum, name, value);
  }
  return sum;
}

function addCostDetails(a?: Record<string, number>, b?: Record<string, number>): Record<string, number> | undefined {
  const sum = addDetails(a, b);
  return sum && Object.fromEntries(Object.entries(sum).map(([name, dollars]) => [name, roundCost(dollars)]));
}

function addAmounts(a?: number, b?: number): number | undefined {
  return a === undefined ? b : roundCost(a + (b ?? 0));
}

function details(value: unknown, read: (item: unknown) => number | undefined): Record<string, number> | undefined {
  if (!isObject(value)) return undefined;
  const kept = Object.entries(value).flatMap(([name, item]) => {
    const one = read(item);
    return one === undefined ? [] : [[name.slice(0, 60), one] as const];
  });
  return kept.length > 0 ? Object.fromEntries(kept.slice(0, 20)) : undefined;
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value < 1e12 ? Math.round(value) : undefined;
}

function amount(value: unknown): number | undefined {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? number : undefined;
}

function readMember(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}
