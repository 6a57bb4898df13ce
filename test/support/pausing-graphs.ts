/** Graphs that ask questions: alone, nested, side by side, twice in one node; and one whose messages are replayed. */
import "../../src/runtime/install.ts";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  END,
  getConfig,
  interrupt,
  isGraphInterrupt,
  MessagesDeltaValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { type GraphFactory, graphs } from "../../src/deployment.ts";

/** The nodes that ran to their end, in order. */
export const ran: string[] = [];

const State = Annotation.Root({
  said: Annotation<string[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});

const did = (name: string) => () => {
  ran.push(name);
  return { said: [name] };
};

const asks = (name: string) => () => {
  const answer: unknown = interrupt(`${name}?`);
  ran.push(name);
  return { said: [`${name}: ${JSON.stringify(answer)}`] };
};

/** Resolves after `ms`, or rejects when the run is stopped. */
const pause = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("stopped"));
    });
  });

const plain = new StateGraph(State)
  .addNode("first", did("first"))
  .addNode("ask", asks("ask"))
  .addNode("slow", async (_state, config) => {
    await pause(60_000, config.signal);
    return {};
  })
  .addEdge(START, "first")
  .addEdge("first", "ask")
  .addConditionalEdges("ask", ({ said }) => (said.at(-1)?.includes("slow") ? "slow" : END), ["slow", END])
  .compile({ name: "plain" });

const inner = new StateGraph(State)
  .addNode("before", did("before"))
  .addNode("ask", asks("inner"))
  .addEdge(START, "before")
  .addEdge("before", "ask")
  .addEdge("ask", END)
  .compile();

/** A nested graph that asks after its first node, beside a node that does not ask. */
const nested = new StateGraph(State)
  .addNode("inner", inner)
  .addNode("beside", did("beside"))
  .addNode("last", did("last"))
  .addEdge(START, "inner")
  .addEdge(START, "beside")
  .addEdge(["inner", "beside"], "last")
  .addEdge("last", END)
  .compile({ name: "nested" });

const pair = new StateGraph(State)
  .addNode("left", asks("left"))
  .addNode("right", asks("right"))
  .addEdge(START, "left")
  .addEdge(START, "right")
  .addEdge("left", END)
  .addEdge("right", END);
const parallel = new StateGraph(State)
  .addNode("pair", pair.compile())
  .addEdge(START, "pair")
  .addEdge("pair", END)
  .compile({ name: "parallel" });

/** Asks two questions in one node. */
const asksTwice = (name: string, ask: (question: string) => unknown) =>
  new StateGraph(State)
    .addNode("ask", async (_state, config) => {
      const answers: unknown[] = [ask("one?"), ask("two?")];
      if (answers.includes("wait")) await pause(60_000, config.signal);
      return { said: [JSON.stringify(answers)] };
    })
    .addEdge(START, "ask")
    .addEdge("ask", END)
    .compile({ name });
const twice = asksTwice("twice", interrupt);

/** Asks as LangGraph before 1.7 does, which gives all questions of a task the id of the first. */
const ids = new Map<string, string | undefined>();
const twiceUnderOneId = asksTwice("twice-under-one-id", (question) => {
  try {
    return interrupt(question);
  } catch (error) {
    if (isGraphInterrupt(error)) {
      const task = String(getConfig().configurable?.["checkpoint_ns"]);
      for (const raised of error.interrupts) {
        ids.set(task, ids.get(task) ?? raised.id);
        raised.id = ids.get(task);
      }
    }
    throw error;
  }
});

const delta = new StateGraph(new StateSchema({ messages: MessagesDeltaValue }))
  .addNode("answer", ({ messages }: { messages: BaseMessage[] }) => ({
    messages: [new AIMessage(`${messages.length} so far`)],
  }))
  .addNode("end", () => ({}))
  .addEdge(START, "answer")
  .addEdge("answer", "end")
  .addEdge("end", END)
  .compile({ name: "delta" });

/** What `createBreakable` does before it gives its graph; `held`: it waits first, and how many wait. */
export const factory = { work: () => {}, held: false, waiting: 0 };

const createBreakable: GraphFactory = async () => {
  factory.waiting += 1;
  // It polls: a promise of another context cannot be resolved here.
  while (factory.held) await pause(1);
  factory.waiting -= 1;
  factory.work();
  return plain;
};

Object.assign(graphs, {
  plain,
  nested,
  parallel,
  twice,
  "twice-under-one-id": twiceUnderOneId,
  delta,
  breakable: createBreakable,
});
