/** Which chat model a graph talks to: an OpenAI-compatible endpoint when there is a key, else the offline one. */
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { OfflineModel } from "./offline/model.ts";

const DEFAULT_MODEL = "gpt-4.1-mini";

/** What an assistant may set. The same for every demo graph that uses a model. */
export const ModelContext = z.object({
  model: z
    .string()
    .optional()
    .describe(
      `A model of the OpenAI-compatible endpoint (${DEFAULT_MODEL} if empty), or "offline" for the built-in one.`,
    ),
  system_prompt: z.string().optional().describe("The system prompt of the model."),
  temperature: z.number().min(0).max(2).optional().describe("0 is most predictable, 2 most varied."),
});
export type ModelSettings = z.infer<typeof ModelContext>;

/** The run's settings: its `context`, or the same keys of `config.configurable` for clients without `context`. */
export function readSettings({ context, configurable }: LangGraphRunnableConfig): ModelSettings {
  return ModelContext.parse({ ...configurable, ...context });
}

/** The variables that say which model there is. Weir passes them to the factory of a graph; they are in `process.env` too. */
export interface ModelEnv {
  OPENAI_API_KEY?: string;
  OPENAI_BASE_URL?: string;
  OPENAI_MODEL?: string;
  /** Milliseconds between the words of the offline model. 5 if left out. */
  OFFLINE_MODEL_DELAY_MS?: string;
}

export const ENV: ModelEnv = process.env as Record<string, string | undefined>;

/** The chat model for these settings. */
export function chatModel(env: ModelEnv, { model, temperature }: ModelSettings): BaseChatModel {
  if (!env.OPENAI_API_KEY || model === "offline") {
    return new OfflineModel({ delay: Number(env.OFFLINE_MODEL_DELAY_MS ?? 5) });
  }
  return new ChatOpenAI({
    apiKey: env.OPENAI_API_KEY,
    model: model || env.OPENAI_MODEL || DEFAULT_MODEL,
    temperature,
    configuration: { baseURL: env.OPENAI_BASE_URL || undefined },
  });
}
