/** The last token of a model is sent before its node ends. */
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { drive, type DriveSink } from "../../src/runtime/drive.ts";

it("a turn of the event loop is between the last token and the end of its node", async () => {
  const model = new FakeListChatModel({ responses: ["one two three"] });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("talk", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addEdge("__start__", "talk")
    .addEdge("talk", "__end__")
    .compile();
  const seen: string[] = [];
  const sink = {
    tuple: () => {
      seen.push("token");
      // Timers that are set with the last token: those of other runs, and of the streams that send it.
      setTimeout(() => seen.push("turn"));
    },
    chunk: (_namespace: string[], mode: string) => seen.push(mode),
    message: () => undefined,
    messages: () => undefined,
    event: () => undefined,
  } as unknown as DriveSink;
  const options = {
    runId: crypto.randomUUID(),
    configurable: {},
    origin: (id: string) => id,
    metadata: {},
    signal: new AbortController().signal,
    debug: false,
    events: false,
  };
  await drive(graph, { messages: [{ role: "user", content: "hi" }] }, options, sink);
  expect(seen.filter((one) => one === "token").length).toBeGreaterThan(1);
  expect(seen.slice(seen.lastIndexOf("token"), seen.indexOf("updates"))).toContain("turn");
});
