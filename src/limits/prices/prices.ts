/** What a model call costs: prices by provider and model name, which a deployment can extend. */
import * as v from "valibot";
import { parseJson } from "../../lib/json.ts";
import { logError } from "../../lib/log.ts";
import { roundCost, type Price, PRICES } from "./price-list.ts";
import type { Usage } from "./usage.ts";

const amount = v.pipe(v.number(), v.minValue(0), v.maxValue(1_000_000));

const members = {
  /** `ls_provider`; absent matches any. */
  provider: v.optional(v.pipe(v.string(), v.maxLength(100))),
  /** US dollars for a million tokens. */
  input: amount,
  output: amount,
  /** Of tokens that were read from a cache, and of those written to one. Default: as `input`. */
  cached_input: v.optional(amount),
  cache_write: v.optional(amount),
  /** Of tokens of audio. Default: as `input` and `output`. */
  audio_input: v.optional(amount),
  audio_output: v.optional(amount),
  /** Of reasoning, which is a part of the output. Default: as `output`. */
  reasoning: v.optional(amount),
};

/** `model` matches the whole of `ls_model_name`, a regular expression. */
export const PriceShape = v.object({ ...members, model: v.string() });

/** The prices of a workspace. Its members share isolates with others, so that it gives names and not regular expressions. */
export const PriceList = v.pipe(
  v.array(
    v.strictObject({
      ...members,
      model: v.pipe(
        v.string(),
        v.regex(/^[\w.:/@-]{1,200}\*?$/, "expected the name of a model, or the beginning of names and a *"),
      ),
    }),
  ),
  v.maxLength(500),
);

export type PriceTable = { price: Price; pattern: RegExp }[];

let compiled: { source: string; table: PriceTable } | undefined;

/**
 * The table: the workspace's own prices first, then the deployment's. `TRACE_PRICES` is a JSON list of `Price`; entries that are none
 * are left out, for a wrong price must not stop traces from being stored.
 */
export function priceTable(variable: string | undefined, own: Price[] = []): PriceTable {
  const source = variable ?? "";
  if (compiled?.source !== source) {
    const table = [...deploymentPrices(source), ...PRICES].flatMap((price) => {
      try {
        return [{ price, pattern: new RegExp(`^(?:${price.model})$`, "i") }];
      } catch {
        return [];
      }
    });
    compiled = { source, table };
  }
  return [...own.map((price) => ({ price, pattern: namesLike(price.model) })), ...compiled.table];
}

/** A pattern for one name, or with `*` at its end for all that begin so. */
function namesLike(model: string): RegExp {
  const text = model.replace(/\*$/, "").replaceAll(/[.:/@-]/g, "\\$&");
  return new RegExp(`^${text}${model.endsWith("*") ? "" : "$"}`, "i");
}

export function deploymentPrices(source: string | undefined): Price[] {
  if (!source) return [];
  const list = parseJson(source);
  if (Array.isArray(list)) return list.filter((one) => v.is(PriceShape, one));
  logError("TRACE_PRICES is not a JSON list; it is left out.");
  return [];
}

/** The usage with its costs: as reported, else by the table, else without. */
export function addCost(usage: Usage, metadata: Record<string, unknown>, table: PriceTable): Usage {
  if (usage.total_cost !== undefined) return usage;
  if (usage.prompt_cost !== undefined || usage.completion_cost !== undefined) {
    return { ...usage, total_cost: roundCost((usage.prompt_cost ?? 0) + (usage.completion_cost ?? 0)) };
  }
  const price = findPrice(metadata, table);
  if (!price) return usage;
  const prompt = promptPrice(usage, price);
  const completion = completionPrice(usage, price);
  return {
    ...usage,
    prompt_cost: dollars(prompt),
    completion_cost: dollars(completion),
    total_cost: dollars(prompt + completion),
  };
}

/** Dollars for a million. The details are parts of the whole, as LangChain's `usage_metadata` has them. */
function promptPrice({ prompt_tokens, prompt_token_details = {} }: Usage, price: Price): number {
  const { cache_read = 0, cache_creation = 0, audio = 0 } = prompt_token_details;
  return parts(prompt_tokens, price.input, [
    [cache_read, price.cached_input],
    [cache_creation, price.cache_write],
    [audio, price.audio_input],
  ]);
}

function completionPrice({ completion_tokens, completion_token_details = {} }: Usage, price: Price): number {
  const { audio = 0, reasoning = 0 } = completion_token_details;
  return parts(completion_tokens, price.output, [
    [audio, price.audio_output],
    [reasoning, price.reasoning],
  ]);
}

/** The price of tokens of which some have prices of their own. No part is larger than what is left of the whole. */
function parts(tokens: number, usual: number, apart: [tokens: number, price: number | undefined][]): number {
  let left = tokens;
  let sum = 0;
  for (const [given, price = usual] of apart) {
    const part = Math.min(given, left);
    left -= part;
    sum += part * price;
  }
  return sum + left * usual;
}

/** From dollars for a million tokens; rounded to 12 places, so that sums print as people expect. */
function dollars(millionfold: number): number {
  return Number((millionfold / 1e6).toFixed(12));
}

function findPrice(metadata: Record<string, unknown>, table: PriceTable): Price | undefined {
  const { ls_model_name: model, ls_provider: provider } = metadata;
  if (typeof model !== "string") return undefined;
  const name = model.slice(0, 200);
  return table.find(
    ({ price, pattern }) => (price.provider === undefined || price.provider === provider) && pattern.test(name),
  )?.price;
}
