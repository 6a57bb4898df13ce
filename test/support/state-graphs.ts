/** Graphs whose states hold any JSON. */
import "../../src/runtime/install.ts";
import { END, MessagesValue, ReducedValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { graphs } from "../../src/deployment.ts";

const State = new StateSchema({
  messages: MessagesValue,
  items: new ReducedValue(z.array(z.any()).default([]), { reducer: (held, more) => held.concat(more) }),
  note: z.any().optional(),
  act: z.string().optional(),
});

const states = new StateGraph(State)
  .addNode("step", ({ act }) => (act === "more" ? { items: ["more"] } : {}))
  .addEdge(START, "step")
  .addEdge("step", END)
  .compile();

/** Its state is one list. */
const lists = new StateGraph<{ __root__: unknown[] }>({
  channels: { __root__: { value: (_held, given) => given, default: () => [] } },
})
  .addNode("step", (state) => state)
  .addEdge(START, "step")
  .addEdge("step", END)
  .compile();

Object.assign(graphs, { states, lists });
