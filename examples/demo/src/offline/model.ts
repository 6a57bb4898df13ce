/**
 * A chat model that needs no key and no network: it follows fixed rules (reply.ts), streams word by word, calls tools,
 * and says what it is. It makes a fresh deployment alive and tests repeatable; it does not think.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { reply } from "./reply.ts";

interface CallOptions extends BaseChatModelCallOptions {
  toolNames?: string[];
}

export class OfflineModel extends BaseChatModel<CallOptions> {
  readonly #delay: number;

  /** `delay`: milliseconds between words. */
  constructor({ delay }: { delay: number }) {
    super({});
    this.#delay = delay;
  }

  override _llmType(): string {
    return "weir-offline";
  }

  override bindTools(tools: BindToolsInput[]) {
    return this.withConfig({
      toolNames: tools.map((tool) => String("function" in tool ? tool.function.name : tool.name)),
    });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    let whole: ChatGenerationChunk | undefined;
    for await (const chunk of this.#speak(messages, options)) whole = whole?.concat(chunk) ?? chunk;
    return { generations: whole ? [whole] : [] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for await (const chunk of this.#speak(messages, options)) {
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  async *#speak(messages: BaseMessage[], options: this["ParsedCallOptions"]): AsyncGenerator<ChatGenerationChunk> {
    const { text, calls } = reply(messages, options.toolNames ?? []);
    const words = text.match(/\S+\s*/g) ?? [];
    for (const [index, word] of words.entries()) {
      options.signal?.throwIfAborted();
      if (index > 0 && this.#delay > 0) await sleep(this.#delay, undefined, { signal: options.signal });
      yield toChunk(new AIMessageChunk(word));
    }
    // Text has block index 0 in LangChain's content blocks; a tool call there would be merged into it.
    const tool_call_chunks = calls.map(({ name, args }, index) => ({
      type: "tool_call_chunk" as const,
      id: `call_${crypto.randomUUID()}`,
      name,
      args: JSON.stringify(args),
      index: index + 1,
    }));
    if (calls.length > 0) yield toChunk(new AIMessageChunk({ content: "", tool_call_chunks }));
    const [input, output] = [
      messages
        .map((message) => message.text)
        .join(" ")
        .split(/\s+/).length,
      words.length,
    ];
    yield toChunk(
      new AIMessageChunk({
        content: "",
        response_metadata: { model_name: "weir-offline", finish_reason: calls.length > 0 ? "tool_calls" : "stop" },
        // Words, not tokens: the model has none.
        usage_metadata: { input_tokens: input, output_tokens: output, total_tokens: input + output },
      }),
    );
  }
}

function toChunk(message: AIMessageChunk): ChatGenerationChunk {
  return new ChatGenerationChunk({ message, text: message.text });
}
