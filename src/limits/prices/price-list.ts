/** The list prices of models, as docs/prices.md shows them. */

// Amounts of US dollars.

/** The amount in 12 digits. The sum of many binary fractions differs from the sum of the prices in later ones. */
export function roundCost(dollars: number): number {
  return Number(dollars.toPrecision(12));
}

/** US dollars for a million tokens. `TRACE_PRICES` and the prices of a workspace have the same members. */
export interface Price {
  /** `ls_provider`; absent matches any. */
  provider?: string;
  /** Matches the whole of `ls_model_name`, a regular expression. */
  model: string;
  input: number;
  output: number;
  cached_input?: number;
  cache_write?: number;
  audio_input?: number;
  audio_output?: number;
  reasoning?: number;
}

/** Until when the list prices follow what the providers publish, and where they do. */
export const PRICES_DATE = "2025-11-30";
export const PRICES_SOURCES = {
  OpenAI: "https://platform.openai.com/docs/pricing",
  Anthropic: "https://www.anthropic.com/pricing",
  Google: "https://ai.google.dev/gemini-api/docs/pricing",
};

const openai = (model: string, input: number, output: number, more: Partial<Price> = {}): Price => ({
  provider: "openai",
  model,
  input,
  output,
  ...more,
});

/** Anthropic reads a cache at a tenth of the input's price, and writes one (for five minutes) at five quarters. */
const anthropic = (model: string, input: number, output: number): Price => ({
  provider: "anthropic",
  model,
  input,
  output,
  cached_input: roundCost(input / 10),
  cache_write: roundCost(input * 1.25),
});

/**
 * List prices of widely used models; the first match counts. A workspace's own prices come first, then those of the variable
 * TRACE_PRICES. `docs/prices.md` shows this table: `node scripts/prices.ts` writes it.
 */
export const PRICES: Price[] = [
  openai("gpt-4o-mini-audio.*", 0.15, 0.6, { audio_input: 10, audio_output: 20 }),
  openai("gpt-4o-audio.*", 2.5, 10, { audio_input: 40, audio_output: 80 }),
  openai("gpt-4o-mini(-.*)?", 0.15, 0.6, { cached_input: 0.075 }),
  openai("gpt-4o-2024-05-13", 5, 15),
  openai("gpt-4o(-.*)?", 2.5, 10, { cached_input: 1.25 }),
  openai("gpt-4\\.1-nano(-.*)?", 0.1, 0.4, { cached_input: 0.025 }),
  openai("gpt-4\\.1-mini(-.*)?", 0.4, 1.6, { cached_input: 0.1 }),
  openai("gpt-4\\.1(-.*)?", 2, 8, { cached_input: 0.5 }),
  openai("gpt-5-nano(-.*)?", 0.05, 0.4, { cached_input: 0.005 }),
  openai("gpt-5-mini(-.*)?", 0.25, 2, { cached_input: 0.025 }),
  openai("gpt-5-pro(-.*)?", 15, 120),
  openai("gpt-5(\\.1)?(-.*)?", 1.25, 10, { cached_input: 0.125 }),
  openai("gpt-audio-mini.*", 0.6, 2.4, { audio_input: 10, audio_output: 20 }),
  openai("gpt-audio.*", 2.5, 10, { audio_input: 32, audio_output: 64 }),
  openai("o1-mini(-.*)?", 1.1, 4.4, { cached_input: 0.55 }),
  openai("o1-pro(-.*)?", 150, 600),
  openai("o1(-.*)?", 15, 60, { cached_input: 7.5 }),
  openai("o3-mini(-.*)?", 1.1, 4.4, { cached_input: 0.55 }),
  openai("o4-mini(-.*)?", 1.1, 4.4, { cached_input: 0.275 }),
  openai("o3-pro(-.*)?", 20, 80),
  openai("o3(-.*)?", 2, 8, { cached_input: 0.5 }),
  openai("text-embedding-3-small", 0.02, 0),
  openai("text-embedding-3-large", 0.13, 0),
  anthropic("claude-.*haiku-4.*", 1, 5),
  anthropic("claude-3-5-haiku.*", 0.8, 4),
  { ...anthropic("claude-3-haiku.*", 0.25, 1.25), cached_input: 0.03, cache_write: 0.3 },
  anthropic("claude-.*sonnet.*", 3, 15),
  anthropic("claude-opus-4-5.*", 5, 25),
  anthropic("claude-.*opus.*", 15, 75),
  { model: "gemini-2\\.5-flash-lite.*", input: 0.1, output: 0.4, cached_input: 0.01, audio_input: 0.3 },
  { model: "gemini-2\\.5-flash.*", input: 0.3, output: 2.5, cached_input: 0.03, audio_input: 1 },
  { model: "gemini-2\\.5-pro.*", input: 1.25, output: 10, cached_input: 0.125 },
];
