/** The offline model of the demo graphs, for clients of OpenAI's chat completions: a fresh server has a model to try. */
import { coerceMessageLikeToMessage } from "@langchain/core/messages";
import { reply } from "../../../examples/demo/src/offline/reply.ts";
import { addressFault } from "../../http/addresses.ts";
import { Problem } from "../../lib/problem.ts";
import { workersAi } from "../../agents/models/workers-ai.ts";
import type { PlaygroundModel } from "./schema.ts";

export const OFFLINE = "weir-offline";
const DELAY_MS = 5;

interface ModelRequest {
  messages: { role: string; content: unknown; tool_call_id?: string; tool_calls?: OpenAiCall[] }[];
  tools?: { function: { name: string } }[];
}

interface OpenAiCall {
  id: string;
  function: { name: string; arguments: string };
}

/** A `fetch` that answers a request for chat completions with a stream of chunks. */
export const offline = (env: Env) => async (_url: string, init: RequestInit) => {
  const { messages, tools = [] } = JSON.parse(init.body as string) as ModelRequest;
  const given = messages.map(({ role, content, tool_calls = [], tool_call_id = "" }) => {
    const calls = tool_calls.map((call) => ({
      id: call.id,
      name: call.function.name,
      args: JSON.parse(call.function.arguments) as Record<string, unknown>,
    }));
    return coerceMessageLikeToMessage({ role, content: content as string, tool_calls: calls, tool_call_id });
  });
  const { text, calls } = reply(
    given,
    tools.map(({ function: { name } }) => name),
  );
  const words = text.match(/\S+\s*/g) ?? [];
  const wait = Number(env.OFFLINE_MODEL_DELAY_MS ?? DELAY_MS);
  const input = given
    .map((message) => message.text)
    .join(" ")
    .split(/\s+/).length;
  const chunks = [
    ...words.map((content) => ({ choices: [{ delta: { content } }] })),
    ...calls.map(({ name, args }, index) => ({
      choices: [
        {
          delta: {
            tool_calls: [
              { index, id: `call_${crypto.randomUUID()}`, function: { name, arguments: JSON.stringify(args) } },
            ],
          },
        },
      ],
    })),
    { choices: [{ delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }] },
    // Words, not tokens: the model has none.
    {
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: words.length, total_tokens: input + words.length },
    },
  ];
  const encoder = new TextEncoder();
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      init.signal?.throwIfAborted();
      if (next > 0 && next < words.length && wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      const chunk = chunks[next++];
      controller.enqueue(encoder.encode(`data: ${chunk === undefined ? "[DONE]" : JSON.stringify(chunk)}\n\n`));
      if (chunk === undefined) controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
};

// Which models a call may use, and how each is reached: all of them answer as OpenAI's chat completions do.

const OPENAI = "https://api.openai.com/v1";
/** As the demo graphs and the judges of rules use them. */
const USUAL = { openai: "gpt-4.1-mini", "workers-ai": "@cf/meta/llama-3.3-70b-instruct-fp8-fast" };

export interface ReachedModel {
  name: string;
  /** As prices name it. */
  provider: string;
  url: string;
  key?: string;
  send: (url: string, init: RequestInit) => Promise<Response>;
}

/** What the deployment has: a model may be called without a key of the caller's. */
export function knownModels(env: Env) {
  return [
    { provider: "offline", model: OFFLINE, is_available: true },
    {
      provider: "openai",
      model: env.OPENAI_MODEL ?? USUAL.openai,
      is_available: Boolean(env.OPENAI_API_KEY),
    },
    { provider: "workers-ai", model: USUAL["workers-ai"], is_available: env.AI !== undefined },
  ];
}

/**
 * The deployment's key is sent to the deployment's own address only. Another address gets the key of the call, or none.
 * @throws Problem 422
 */
export function reachModel(env: Env, model: PlaygroundModel): ReachedModel {
  if (model.provider === "offline")
    return { name: OFFLINE, provider: "offline", url: pathIn("https://offline.invalid"), send: offline(env) };
  if (model.provider === "workers-ai") {
    if (!env.AI)
      throw new Problem(
        422,
        "Invalid body.model: the deployment has no binding AI for Workers AI. docs/workers-ai.md says how to add it.",
      );
    const send = workersAi(env.AI);
    return { name: model.model, provider: "workers-ai", url: pathIn(OPENAI), send };
  }
  const { base_url, api_key } = model;
  // The deployment's own address is its operator's choice.
  const fault = base_url ? addressFault(base_url, env.ALLOW_PRIVATE_ADDRESSES === "true") : undefined;
  if (fault) throw new Problem(422, `Invalid body.model.base_url: ${fault}.`);
  const key = api_key ?? (base_url ? undefined : env.OPENAI_API_KEY);
  if (!base_url && !key)
    throw new Problem(
      422,
      "Invalid body.model: the deployment has no OPENAI_API_KEY. Give api_key, or use the provider offline.",
    );
  // A key of the caller's own is not meant for the operator's gateway.
  const base = base_url ?? (api_key === undefined ? (env.OPENAI_BASE_URL ?? OPENAI) : OPENAI);
  const send = (url: string, init: RequestInit) => fetch(url, init);
  return { name: model.model, provider: "openai", url: pathIn(base), ...(key && { key }), send };
}

const pathIn = (base: string) => `${base.replace(/\/+$/, "")}/chat/completions`;
