/** The graphs of the comparison in JavaScript. `../python/graphs.py` has the same graphs, in the same order. */
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import {
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesValue,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { z } from "zod";

const Messages = new StateSchema({ messages: MessagesValue });
const Log = new StateSchema({
  text: z.string().optional(),
  log: new ReducedValue(z.array(z.any()).default([]), { reducer: (log, more) => [...log, ...more] }),
});
type Log = typeof Log.State;
const Context = z.object({ tone: z.string().optional() });

/** One node that repeats the message. */
export const echo = new StateGraph(Messages)
  .addNode("echo", ({ messages }) => ({ messages: [new AIMessage(`You said: ${messages.at(-1)?.text}`)] }))
  .addEdge(START, "echo")
  .addEdge("echo", END)
  .compile();

const step =
  (name: string) =>
  ({ text }: Log, config: LangGraphRunnableConfig) => {
    config.writer?.({ at: name });
    return { text: text + name, log: [name] };
  };

/** Two nodes, one after the other, each with a custom event. */
export const steps = new StateGraph(Log)
  .addNode("a", step("a"))
  .addNode("b", step("b"))
  .addEdge(START, "a")
  .addEdge("a", "b")
  .addEdge("b", END)
  .compile();

const askFor = (name: string) => () => ({ log: [`${name}: ${String(interrupt({ question: name }))}`] });

/** One interrupt. */
export const ask = new StateGraph(Log)
  .addNode("ask", askFor("ask"))
  .addEdge(START, "ask")
  .addEdge("ask", END)
  .compile();

/** Two interrupts at once. */
export const both = new StateGraph(Log)
  .addNode("left", askFor("left"))
  .addNode("right", askFor("right"))
  .addEdge(START, "left")
  .addEdge(START, "right")
  .addEdge("left", END)
  .addEdge("right", END)
  .compile();

const explode = () => {
  const error = new Error("kaboom");
  error.name = "ValueError";
  throw error;
};

/** A node that succeeds, then one that fails. */
export const boom = new StateGraph(Log)
  .addNode("a", step("a"))
  .addNode("fuse", explode)
  .addEdge(START, "a")
  .addEdge("a", "fuse")
  .addEdge("fuse", END)
  .compile();

const inner = new StateGraph(Log).addNode("deep", step("deep")).addEdge(START, "deep").addEdge("deep", END).compile();

/** A graph within a graph. */
export const nested = new StateGraph(Log)
  .addNode("first", step("first"))
  .addNode("inner", inner)
  .addEdge(START, "first")
  .addEdge("first", "inner")
  .addEdge("inner", END)
  .compile();

const pick = (from: Record<string, unknown> | undefined, ...keys: string[]) =>
  Object.fromEntries(keys.map((key) => [key, from?.[key] ?? null]));

function look(_state: Log, config: LangGraphRunnableConfig<z.infer<typeof Context>>) {
  const given = {
    configurable: pick(config.configurable, "flavour", "tone"),
    metadata: pick(config.metadata, "of_config", "of_run", "of_thread"),
    context: config.context ?? {},
    tags: (config.tags ?? []).filter((tag) => !tag.startsWith("graph:")).toSorted(),
    max_concurrency: config.maxConcurrency ?? null,
    recursion_limit: config.recursionLimit ?? null,
  };
  return { log: [given] };
}

/** A node that returns its configuration. */
export const seen = new StateGraph(Log, Context)
  .addNode("look", look)
  .addEdge(START, "look")
  .addEdge("look", END)
  .compile();

/** Waits as many tenths of a second as `text` says. */
export const slow = new StateGraph(Log)
  .addNode("wait", async ({ text }, { signal }) => {
    for (let tenth = 0; tenth < Number(text); tenth += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      signal?.throwIfAborted();
    }
    return { log: ["waited"] };
  })
  .addEdge(START, "wait")
  .addEdge("wait", END)
  .compile();

/** A model that streams three chunks. */
class Speaker extends BaseChatModel {
  override _llmType(): string {
    return "speaker";
  }

  override async _generate(): Promise<ChatResult> {
    return { generations: [{ text: "It is 42.", message: new AIMessage("It is 42.") }] };
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const text of ["It ", "is ", "42."]) {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
      yield chunk;
      await run?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

/** A node that calls a model. */
export const model = new StateGraph(Messages)
  .addNode("model", async ({ messages }) => ({ messages: [await new Speaker({}).invoke(messages)] }))
  .addEdge(START, "model")
  .addEdge("model", END)
  .compile();
