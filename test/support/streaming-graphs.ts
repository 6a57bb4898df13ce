/** Graphs for tests of the streaming protocol: many questions at once, a failure, custom events. */
import { AIMessage } from "@langchain/core/messages";
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
import { graphs } from "../../src/graphs/index.ts";

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

Object.assign(graphs, { questions, moody, boom, progress });
