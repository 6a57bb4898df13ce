/** Graphs whose nodes change what they got, and hold what only looks like something else. */
import "../../src/runtime/als.ts";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { END, MessagesValue, ReducedValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { graphs } from "../../src/graphs/index.ts";

const State = new StateSchema({
  messages: MessagesValue,
  items: new ReducedValue(z.array(z.any()).default([]), { reducer: (held, more) => held.concat(more) }),
  note: z.any().optional(),
  act: z.string().optional(),
});
type State = typeof State.State;

const add = (message: BaseMessage | undefined, text: string) => {
  if (message) message.content = `${message.content as string}${text}`;
};

/** Whether `fail` throws. */
export const failing = { now: false };

const ACTS: Record<string, (state: State) => object> = {
  /** Changes the first of each list in place, and returns what it appends. */
  edit: ({ messages, items, note }) => {
    add(messages[0], " +edited");
    (items[0] as { deep: { text: string }[] }).deep[0]!.text += " +edited";
    (note as { text: string }).text += " +edited";
    return { messages: [new AIMessage("edited")], items: [{ last: true }], note };
  },
  /** Changes in place what it does not return: the channels' versions stay. */
  hide: ({ messages, note }) => {
    add(messages[0], " +hidden");
    (note as { text: string }).text += " +hidden";
    return {};
  },
  fail: ({ messages }) => {
    add(messages[0], " +footer");
    if (failing.now) throw new Error("after the footer");
    return { messages: [new AIMessage("done")] };
  },
  grow: () => ({ items: Array.from({ length: 200_000 }, (_, i) => i % 10) }),
  more: () => ({ items: ["more"] }),
};

const states = new StateGraph(State)
  .addNode("step", (state) => ACTS[state.act ?? ""]?.(state) ?? {})
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
