/** Graphs under the names of tools that the MCP conformance suite calls. */
import { AIMessage } from "@langchain/core/messages";
import {
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { graphs } from "../../src/graphs/index.ts";

const State = new StateSchema({ messages: MessagesValue });

const graphOf = (answer: (state: unknown, config: LangGraphRunnableConfig) => object) =>
  new StateGraph(State).addNode("answer", answer).addEdge(START, "answer").addEdge("answer", END).compile();

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const image = { type: "image", mimeType: "image/png", data: PIXEL };
const audio = { type: "audio", mimeType: "audio/wav", data: "UklGRiQAAABXQVZFZm10IBAAAAABAAEA" };
const file = { type: "file", mimeType: "application/pdf", data: "JVBERi0=" };
const text = (content: string) => ({ type: "text", text: content });
const saying = (content: object[]) => graphOf(() => ({ messages: [new AIMessage({ content: content as never })] }));

Object.assign(graphs, {
  test_image_content: saying([image]),
  test_audio_content: saying([audio]),
  test_embedded_resource: saying([file]),
  test_multiple_content_types: saying([text("Multiple content types test:"), image, file]),
  test_tool_with_progress: graphOf((_state, { writer }) => {
    for (const progress of [0, 50, 100])
      writer?.({ progress, total: 100, message: `Completed step ${progress} of 100` });
    return { messages: [new AIMessage("Done.")] };
  }),
  test_tool_with_logging: graphOf((_state, { writer }) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"])
      writer?.({ level: "info", logger: "graph", data });
    return { messages: [new AIMessage("Logged.")] };
  }),
  test_input_required_result_elicitation: graphOf(() => {
    const name = String(interrupt("What is your name?"));
    return { messages: [new AIMessage(`Hello, ${name}!`)] };
  }),
  test_simple_text: graphOf(() => ({ messages: [new AIMessage("This is a simple text response for testing.")] })),
  test_error_handling: graphOf(() => {
    throw new Error("This tool intentionally returns an error for testing");
  }),
});
