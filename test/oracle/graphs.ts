/**
 * The graphs of the oracle, plain LangGraph: any Agent Server can load this file. A turn writes a message, asks when its text ends in
 * `?`, and closes. `log` says which nodes have run, and with which answers.
 */
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import {
  END,
  entrypoint,
  getPreviousState,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesDeltaValue,
  MessagesValue,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
  task,
} from "@langchain/langgraph";
import { z } from "zod";

export type Pause = "none" | "interrupt" | "nested" | "parallel" | "breakpoint" | "twice";

export interface Shape {
  pause: Pause;
  /** The messages are a delta channel. */
  delta?: boolean;
  /** The last node edits the state in place. */
  edits?: boolean;
  /** The name of the last node. */
  last?: string;
  /** The node that writes the message fails in the middle of its message the first time in each turn, and is tried again. */
  flaky?: boolean;
  /** A node calls a graph that keeps its state from turn to turn; or the graph is a function with tasks, which pauses in none of its own. */
  form?: "nodes" | "keeps" | "functional";
}

/** Where nodes wait. A test in the same process opens and closes the gates of a graph. */
export interface Gates {
  /** Whether the node may pass. A stubborn node does not notice that its run is stopped. */
  closed(graphId: string, node: string): "open" | "closed" | "stubborn";
  /** Says that a node has come to its gate. */
  reached(graphId: string, node: string): void;
  /** Says that a node has ended. */
  ended(threadId: string, node: string, text: string): void;
}

const shared = globalThis as { oracleGates?: Gates };
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits at the node's gate. In a process without gates, a turn whose text contains `slow` waits for a moment. */
async function passGate(node: string, text: string, config: LangGraphRunnableConfig | undefined): Promise<void> {
  const graphId = String(config?.configurable?.graph_id);
  const gates = shared.oracleGates;
  for (let i = 0; gates ? gates.closed(graphId, node) !== "open" : text.includes("slow") && i < 100; i += 1) {
    gates?.reached(graphId, node);
    if (config?.signal?.aborted && gates?.closed(graphId, node) !== "stubborn") throw new Error("stopped");
    await sleep(gates ? 4 : 20);
  }
}

/** The words of the answer to a turn: enough of them for the log to be compacted. */
export const wordsFor = (turn: string): string[] =>
  Array.from({ length: 14 }, (_, i) => (i === 0 ? `(${turn})` : ` w${i}`));

/** Streams the words of a turn, with a gate in the middle. */
class Speaker extends BaseChatModel {
  readonly turn: string;
  readonly config: LangGraphRunnableConfig;
  readonly fails: boolean;

  constructor(turn: string, config: LangGraphRunnableConfig, fails: boolean) {
    super({});
    this.turn = turn;
    this.config = config;
    this.fails = fails;
  }

  override _llmType(): string {
    return "oracle";
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const id = crypto.randomUUID();
    const words = wordsFor(this.turn);
    for (const [i, text] of words.entries()) {
      if (i === words.length / 2) {
        await passGate("speak", this.turn, this.config);
        if (this.fails) throw new Error("The model failed.");
      }
      const message = new AIMessageChunk({ id, content: text });
      yield new ChatGenerationChunk({ text, message });
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, {
        chunk: new ChatGenerationChunk({ text, message }),
      });
    }
  }

  override async _generate(): Promise<never> {
    throw new Error("The oracle's model only streams.");
  }
}

const Log = () =>
  new ReducedValue(
    z.array(z.string()).default(() => []),
    { inputSchema: z.array(z.string()), reducer: (before: string[], more: string[]) => [...before, ...more] },
  );
const Doc = z.unknown().optional();
const Inner = new StateSchema({ log: Log() });
const Plain = new StateSchema({ messages: MessagesValue, log: Log(), doc: Doc });
const Delta = new StateSchema({ messages: MessagesDeltaValue, log: Log(), doc: Doc });
type State = typeof Plain.State;

const readTurn = (state: State): string => {
  const said = state.messages.findLast((message) => message.type === "human");
  return said?.text ?? "";
};
const isQuestion = (state: State) => readTurn(state).endsWith("?");

/** Asks, and passes the gate of the node with the answer. */
async function answerTo(question: string, node: string, config: LangGraphRunnableConfig): Promise<string> {
  const answer = String(interrupt(question));
  await passGate(node, question, config);
  return answer;
}

const inner = new StateGraph(Inner)
  .addNode("first", () => ({ log: ["first"] }))
  .addNode("deep", async (_state, config) => ({ log: [`deep:${await answerTo("Deep?", "ask", config)}`] }))
  .addEdge(START, "first")
  .addEdge("first", "deep")
  .addEdge("deep", END)
  .compile({ name: "inner" });

type Node = (state: State, config: LangGraphRunnableConfig) => Promise<object> | object;

/** The nodes between `speak` and the last one. They run side by side. */
const MIDDLE: Record<Pause, Record<string, Node>> = {
  none: { ask: () => ({ log: ["ask"] }) },
  breakpoint: { ask: () => ({ log: ["ask"] }) },
  interrupt: {
    ask: async (state, config) => ({
      log: [isQuestion(state) ? `ask:${await answerTo("Ask?", "ask", config)}` : "ask"],
    }),
  },
  twice: {
    ask: async (state, config) => ({
      log: [isQuestion(state) ? `ask:${String(interrupt("One?"))},${await answerTo("Two?", "ask", config)}` : "ask"],
    }),
  },
  nested: { ask: async (state) => ({ log: isQuestion(state) ? (await inner.invoke({ log: [] })).log : ["ask"] }) },
  parallel: {
    free: (state, config) => {
      shared.oracleGates?.ended(String(config.configurable?.thread_id), "free", readTurn(state));
      return { log: ["free"] };
    },
    left: (state) => ({ log: [isQuestion(state) ? `left:${String(interrupt("Left?"))}` : "left"] }),
    right: async (state, config) => ({
      log: [isQuestion(state) ? `right:${await answerTo("Right?", "right", config)}` : "right"],
    }),
  },
};

/** Counts how often it was called on the thread. */
const counter = new StateGraph(
  new StateSchema({
    count: new ReducedValue(z.number().default(0), { reducer: (before: number, more: number) => before + more }),
  }),
)
  .addNode("add", () => ({ count: 1 }))
  .addEdge(START, "add")
  .addEdge("add", END)
  .compile({ name: "counter", checkpointer: true });

const keep: Node = async (_state, config) => {
  const { count } = await counter.invoke({ count: 0 }, config);
  return { log: [`keep:${count}`] };
};

interface Said {
  messages: BaseMessage[];
  log: string[];
  doc?: unknown;
}

/** The same turn as a function. */
function buildFunction(pause: Pause) {
  return entrypoint(
    { name: "oracle" },
    async (input: { messages: { content: string }[]; doc?: unknown }, config: LangGraphRunnableConfig) => {
      const before = getPreviousState<Said>() ?? { messages: [], log: [] };
      const turn = input.messages.at(-1)?.content ?? "";
      const messages = [...before.messages, new HumanMessage(turn)];
      const speak = task("speak", async () => {
        let message: AIMessageChunk | undefined;
        for await (const chunk of await new Speaker(turn, config, false).stream(messages, config))
          message = message ? message.concat(chunk) : chunk;
        shared.oracleGates?.ended(String(config.configurable?.thread_id), "speak", turn);
        return message as unknown as AIMessage;
      });
      const ask = task("ask", async () => {
        if (!turn.endsWith("?") || pause === "none") return "ask";
        if (pause !== "twice") return `ask:${await answerTo("Ask?", "ask", config)}`;
        return `ask:${String(interrupt("One?"))},${await answerTo("Two?", "ask", config)}`;
      });
      const said = await speak();
      const asked = await ask();
      await passGate("close", turn, config);
      const value: Said = {
        messages: [...messages, said],
        log: [...before.log, `write ${turn}`, asked, "close"],
        doc: input.doc ?? before.doc,
      };
      return entrypoint.final({ value, save: value });
    },
  );
}

/** A graph of which the state has nothing that the others' have. */
export const buildNote = () =>
  new StateGraph(new StateSchema({ note: z.string().default("") }))
    .addNode("write", async (_state, config) => {
      await passGate("close", "", config);
      return { note: "noted" };
    })
    .addEdge(START, "write")
    .addEdge("write", END)
    .compile({ name: "note" });

/** The compiled graph of a shape. */
export function build(shape: Shape) {
  return shape.form === "functional" ? buildFunction(shape.pause) : buildNodes(shape);
}

function buildNodes({ pause, delta = false, edits = false, last = "close", flaky = false, form }: Shape) {
  const failed = new Set<string>();
  const speak: Node = async (state, config) => {
    const turn = readTurn(state);
    const place = `${String(config.configurable?.thread_id)} ${turn}`;
    const fails = flaky && !failed.has(place);
    failed.add(place);
    let message: AIMessageChunk | undefined;
    for await (const chunk of await new Speaker(turn, config, fails).stream(state.messages, config))
      message = message ? message.concat(chunk) : chunk;
    shared.oracleGates?.ended(String(config.configurable?.thread_id), "speak", turn);
    return { messages: [message as unknown as AIMessage], log: [`write ${turn}`] };
  };
  const close: Node = async (state, config) => {
    await passGate("close", readTurn(state), config);
    if (!edits) return { log: ["close"] };
    state.log.push("edit");
    const said = state.messages.at(-1);
    if (said) said.content = `${said.text}!`;
    const doc = (state.doc ?? { edits: 0 }) as { edits: number };
    doc.edits += 1;
    return { log: ["close"], doc };
  };
  const middle = { ...MIDDLE[pause], ...(form === "keeps" && { keep }) };
  const graph = new StateGraph(delta ? (Delta as unknown as typeof Plain) : Plain)
    .addNode("speak", speak, { retryPolicy: { maxAttempts: flaky ? 2 : 1, initialInterval: 1, retryOn: () => true } })
    .addNode(middle)
    .addNode(last, close)
    .addEdge(START, "speak")
    .addEdge(last, END);
  for (const name of Object.keys(middle)) graph.addEdge("speak", name);
  graph.addEdge(Object.keys(middle), last);
  return graph.compile({ name: "oracle" });
}
