/** Graphs for tests of the streaming protocol: many questions at once, a failure, custom events. */
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesValue,
  type ProtocolEvent,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
  StreamChannel,
} from "@langchain/langgraph";
import { z } from "zod";
import { graphs } from "../../src/deployment.ts";

const State = new StateSchema({
  messages: MessagesValue,
  answers: new ReducedValue(
    z.array(z.string()).default(() => []),
    { inputSchema: z.array(z.string()), reducer: (before: string[], more: string[]) => [...before, ...more] },
  ),
});

const ask = (question: string) => () => ({ answers: [`${question}: ${String(interrupt({ question }))}`] });

/** Three questions at once, one of them in a nested graph. */
const inner = new StateGraph(State).addNode("deep", ask("deep")).addEdge(START, "deep").addEdge("deep", END).compile();
const questions = new StateGraph(State)
  .addNode("left", ask("left"))
  .addNode("right", ask("right"))
  .addNode("sub", async (state: typeof State.State) => ({ answers: (await inner.invoke(state)).answers.slice(-1) }))
  .addNode("sum", (state: typeof State.State) => ({ messages: [new AIMessage([...state.answers].sort().join("; "))] }))
  .addEdge(START, "left")
  .addEdge(START, "right")
  .addEdge(START, "sub")
  .addEdge(["left", "right", "sub"], "sum")
  .compile({ name: "questions" });

/** Fails or asks, as its config says. */
const moody = new StateGraph(State)
  .addNode("decide", (_state: typeof State.State, { configurable }: LangGraphRunnableConfig) => {
    if (configurable?.mood === "bad") throw new Error("Not today.");
    return ask("mood")();
  })
  .addEdge(START, "decide")
  .compile({ name: "moody" });

const boom = new StateGraph(State)
  .addNode("fuse", () => {
    throw new TypeError("kaboom");
  })
  .addEdge(START, "fuse")
  .compile({ name: "boom" });

const progress = new StateGraph(State)
  .addNode("work", (_state: typeof State.State, config: LangGraphRunnableConfig) => {
    config.writer?.({ progress: 50 });
    config.writer?.({ name: "steps", payload: { step: 1 } });
    // In the log, a member of this name would refer to what is kept elsewhere; a graph's own does not.
    config.writer?.({ $b: "mine" });
    // A name and members beside it, as LangGraph's writers in Python have them.
    config.writer?.({ name: "flat", step: 1 });
    config.writer?.({ name: "flat", step: 2 });
    return { messages: [new AIMessage("done")] };
  })
  .addEdge(START, "work")
  .compile({ name: "progress" });

/** Counts the tools of a run: a value at its end, and each call at once. A third channel is for the same process. */
const createCounted = () => {
  let calls = 0;
  const { promise: toolCalls, resolve } = Promise.withResolvers<number>();
  const activity = StreamChannel.remote<object>("activity");
  const own = StreamChannel.local<object>();
  return {
    init: () => ({ toolCalls, activity, own }),
    process({ method, params: { data } }: ProtocolEvent) {
      const { event, tool_name, payload } = data as { event?: string; tool_name?: string; payload?: { said?: string } };
      if (method === "tools" && event === "tool-started") {
        calls += 1;
        activity.push({ tool: tool_name });
        own.push({});
      }
      if (method === "messages" && event === "message-start") activity.push({ message: true });
      if (method === "custom" && payload?.said === "throw") throw new Error("The transformer cannot continue.");
      return true;
    },
    finalize: () => resolve(calls),
    fail: (error: unknown) => {
      activity.push({ failed: (error as Error).message });
      if ((error as Error).message === "It fails twice.") throw new Error("The transformer fails too.");
    },
  };
};

const double = tool(async ({ n }: { n: number }) => String(2 * n), {
  name: "double",
  schema: z.object({ n: z.number() }),
});

/** A graph with a stream transformer. It calls a tool, asks, fails, or makes the transformer throw, as the message says. */
const counting = new StateGraph(State)
  .addNode("work", async (state: typeof State.State, config: LangGraphRunnableConfig) => {
    const said = state.messages.at(-1)?.text;
    config.writer?.({ name: "progress", payload: { said } });
    if (said === "fail") throw new Error("It failed.");
    if (said === "fail twice") throw new Error("It fails twice.");
    if (said === "ask") interrupt("How many?");
    const result = await double.invoke(
      { type: "tool_call", id: crypto.randomUUID(), name: "double", args: { n: 2 } },
      config,
    );
    return { messages: [new AIMessage((result as { content: string }).content)] };
  })
  .addEdge(START, "work")
  .compile({ name: "counting", transformers: [createCounted] });

/** Its node returns a message with text, and one that only calls a tool. */
const speaker = new StateGraph(State)
  .addNode("speak", () => ({
    messages: [
      new AIMessage({ id: "said", content: "Hello." }),
      new AIMessage({ id: "called", content: "", tool_calls: [{ id: "c", name: "double", args: { n: 2 } }] }),
    ],
  }))
  .addEdge(START, "speak")
  .compile({ name: "speaker" });

Object.assign(graphs, { questions, moody, boom, progress, counting, speaker });
