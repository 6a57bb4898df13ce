/** Which model the agent uses: an OpenAI-compatible one with a key, else Workers AI, else the built-in offline model. */
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatOpenAI } from "@langchain/openai";
import { OfflineModel } from "weir-server/offline-model";
import { type AiBinding, workersAi } from "weir-server/workers-ai";

/** Variables of .env and bindings of wrangler.jsonc. A graph that is a function gets them as its second argument. */
export interface Env {
  OPENAI_API_KEY?: string;
  OPENAI_BASE_URL?: string;
  OPENAI_MODEL?: string;
  WORKERS_AI_MODEL?: string;
  AI?: AiBinding;
  [name: string]: unknown;
}

export function chatModel(env: Env): BaseChatModel {
  if (env.OPENAI_API_KEY) {
    return new ChatOpenAI({
      apiKey: env.OPENAI_API_KEY,
      model: env.OPENAI_MODEL || "gpt-4.1-mini",
      configuration: { baseURL: env.OPENAI_BASE_URL || undefined },
    });
  }
  if (env.AI) {
    return new ChatOpenAI({
      apiKey: "none",
      model: env.WORKERS_AI_MODEL || "workers-ai:@cf/meta/llama-3.3-70b-instruct-fp8-fast",
      configuration: { fetch: workersAi(env.AI) },
    });
  }
  return new OfflineModel({ delay: 5 });
}
