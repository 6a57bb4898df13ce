/** Graphs whose models use what their input says, and short calls about budgets. */
import "../../../src/runtime/install.ts";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import {
  Annotation,
  END,
  interrupt,
  type LangGraphRunnableConfig,
  messagesStateReducer,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { graphs } from "../../../src/deployment.ts";
import type { Caller } from "../../support/caller.ts";

/** Tokens of each call. The price of the model makes that a dollar. */
export const TOKENS = 1_000;
const usage_metadata = { input_tokens: 400, output_tokens: 600, total_tokens: TOKENS };
/** The prices with which a call of the model costs a dollar. */
export const PRICES = [{ model: "model-of-budgets", input: 1_000, output: 1_000 }];

/** The calls that models carried out, by the name in the run's input. */
export const calls = new Map<string, number>();

class Model extends BaseChatModel {
  constructor(private readonly by: string) {
    super({});
  }

  override _llmType() {
    return "model-of-budgets";
  }

  override getLsParams() {
    return { ls_model_type: "chat" as const, ls_model_name: "model-of-budgets", ls_provider: "budgets" };
  }

  override async _generate(_messages: BaseMessage[]): Promise<ChatResult> {
    this.#count();
    return { generations: [{ text: "said", message: new AIMessage({ content: "said", usage_metadata }) }] };
  }

  override async *_streamResponseChunks() {
    this.#count();
    for (const content of ["sa", "id"])
      yield new ChatGenerationChunk({ text: content, message: new AIMessageChunk({ content }) });
    yield new ChatGenerationChunk({ text: "", message: new AIMessageChunk({ content: "", usage_metadata }) });
  }

  #count() {
    calls.set(this.by, (calls.get(this.by) ?? 0) + 1);
  }
}

const State = Annotation.Root({
  name: Annotation<string>({ reducer: (_, next) => next, default: () => "" }),
  said: Annotation<string[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});
type State = typeof State.State;

/** What the graph `crashing` does before its second node. */
export const between: { work?: () => Promise<unknown> } = {};

const speak =
  (as: string) =>
  async ({ name }: State, config: LangGraphRunnableConfig) => {
    const { text } = await new Model(name).invoke("hello", config);
    return { said: [`${as}: ${text}`] };
  };
const ask =
  (as: string) =>
  async ({ name }: State, config: LangGraphRunnableConfig) => {
    const answer: unknown = interrupt(`${as}?`);
    await new Model(name).invoke("hello", config);
    return { said: [`${as}: ${JSON.stringify(answer)}`] };
  };
/** As code that expects its model to fail now and then. */
const catches = async ({ name }: State, config: LangGraphRunnableConfig) => {
  try {
    await new Model(name).invoke("hello", config);
  } catch {
    return { said: ["caught"] };
  }
  return { said: ["careful"] };
};
const fallsBack = async ({ name }: State, config: LangGraphRunnableConfig) => {
  const model = new Model(name).withRetry({ stopAfterAttempt: 5 }).withFallbacks([new Model(name)]);
  await model.invoke("hello", config);
  return { said: ["fallback"] };
};
const waits = async () => {
  await between.work?.();
  return { said: ["waited"] };
};

const graph = () => new StateGraph(State);
const buildGraph = (node: ReturnType<typeof speak>) =>
  graph()
    .addNode("one", speak("one"))
    .addNode("two", node)
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", END);

graphs.speaking = buildGraph(speak("two")).addNode("three", speak("three")).addEdge("two", "three").compile();
graphs.careful = buildGraph(catches).compile();
graphs.fallback = buildGraph(fallsBack).compile();
graphs.nesting = buildGraph(speak("two"))
  .addNode("inner", buildGraph(async (...args) => ({ said: (await catches(...args)).said })).compile())
  .addEdge("two", "inner")
  .compile();
const side = () =>
  graph()
    .addNode("one", speak("one"))
    .addNode("left", speak("left"))
    .addNode("right", speak("right"))
    .addNode("asks", ask("asks"))
    .addEdge(START, "one")
    .addEdge("one", "left")
    .addEdge("one", "right")
    .addEdge("one", "asks");
graphs.side = side().compile();
graphs.longer = side().addNode("tail", speak("tail")).addEdge("asks", "tail").compile();
graphs.questioning = buildGraph(ask("two")).compile();
graphs.crashing = graph()
  .addNode("one", speak("one"))
  .addNode("wait", waits)
  .addNode("two", speak("two"))
  .addEdge(START, "one")
  .addEdge("one", "wait")
  .addEdge("wait", "two")
  .addEdge("two", END)
  .compile();

/** As `speaking`, for clients that send messages. */
const Talk = Annotation.Root({
  messages: Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] }),
});
const talk = async ({ messages }: typeof Talk.State, config: LangGraphRunnableConfig) => {
  return { messages: [await new Model(messages[0]?.text ?? "").invoke(messages, config)] };
};
graphs.talking = new StateGraph(Talk)
  .addNode("one", talk)
  .addNode("two", talk)
  .addEdge(START, "one")
  .addEdge("one", "two")
  .addEdge("two", END)
  .compile();

export interface Question {
  id: string;
  value: Record<string, unknown>;
}

export async function put(caller: Caller, id: string, budget: object): Promise<void> {
  const response = await caller.fetch(`/api/v1/budgets/${id}`, { method: "PUT", body: budget });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
}

/** Runs a graph on a thread to its end or its pause, and gives its values. */
export async function run(caller: Caller, thread: string, assistant: string, more: object): Promise<Values> {
  const response = await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: assistant, ...more } });
  return response.json<Values>();
}

export interface Values {
  said?: string[];
  __interrupt__?: Question[];
  __error__?: { error: string; message: string };
}

export const listQuestions = async (caller: Caller, thread: string): Promise<Question[]> => {
  const state = await (await caller.fetch(`/threads/${thread}/state`)).json<{ interrupts: Question[] }>();
  return state.interrupts;
};

export async function uses(caller: Caller): Promise<Record<string, unknown>[]> {
  return (await (await caller.fetch("/api/v1/budgets/use")).json<{ uses: Record<string, unknown>[] }>()).uses;
}
