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
import * as z from "zod";
import { graphs } from "../../src/deployment.ts";

const State = new StateSchema({ messages: MessagesValue });

const createGraph = (answer: (state: unknown, config: LangGraphRunnableConfig) => object) =>
  new StateGraph(State).addNode("answer", answer).addEdge(START, "answer").addEdge("answer", END).compile();

const form = (name: string, message: string, properties: object) => ({
  name,
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties, required: Object.keys(properties) } },
});
const NAME = form("user_name", "What is your name?", { name: { type: "string" } });
const COLOR = form("color", "Which color?", { color: { type: "string" } });
const CONFIRM = form("confirm", "Please confirm", { ok: { type: "boolean" } });
const CAPITAL = {
  method: "sampling/createMessage",
  params: {
    messages: [{ role: "user", content: { type: "text", text: "What is the capital of France?" } }],
    maxTokens: 100,
  },
};
const ROOTS = { method: "roots/list" };

/** Asks all at once, and answers with what it gets. */
function createAsking(...requests: object[]) {
  const graph = new StateGraph(State);
  for (const [n, request] of requests.entries()) {
    const node = `ask_${n}`;
    graph.addNode(node, () => ({ messages: [new AIMessage(JSON.stringify(interrupt(request)))] }));
    graph.addEdge(START, node as typeof START).addEdge(node as typeof START, END);
  }
  return graph.compile();
}

const Address = z.object({ street: z.string(), city: z.string() }).meta({ id: "address" });
const Contact = z.object({ name: z.string(), address: Address });

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const image = { type: "image", mimeType: "image/png", data: PIXEL };
const audio = { type: "audio", mimeType: "audio/wav", data: "UklGRiQAAABXQVZFZm10IBAAAAABAAEA" };
const file = { type: "file", mimeType: "application/pdf", data: "JVBERi0=" };
const text = (content: string) => ({ type: "text", text: content });
const createSaying = (content: object[]) =>
  createGraph(() => ({ messages: [new AIMessage({ content: content as never })] }));

Object.assign(graphs, {
  test_image_content: createSaying([image]),
  test_audio_content: createSaying([audio]),
  test_embedded_resource: createSaying([file]),
  test_multiple_content_types: createSaying([text("Multiple content types test:"), image, file]),
  test_tool_with_progress: createGraph((_state, { writer }) => {
    for (const progress of [0, 50, 100])
      writer?.({ progress, total: 100, message: `Completed step ${progress} of 100` });
    return { messages: [new AIMessage("Done.")] };
  }),
  test_tool_with_logging: createGraph((_state, { writer }) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"])
      writer?.({ level: "info", logger: "graph", data });
    return { messages: [new AIMessage("Logged.")] };
  }),
  test_logging_tool: createGraph((_state, { writer }) => {
    writer?.({ level: "info", data: "Logged." });
    return { messages: [new AIMessage("Done.")] };
  }),
  test_streaming_elicitation: createAsking(NAME),
  test_missing_capability: createAsking(CAPITAL),
  test_input_required_result_elicitation: createAsking(NAME),
  test_input_required_result_sampling: createAsking(CAPITAL),
  test_input_required_result_list_roots: createAsking(ROOTS),
  test_input_required_result_request_state: createAsking(CONFIRM),
  test_input_required_result_tampered_state: createAsking(CONFIRM),
  test_input_required_result_multiple_inputs: createAsking(NAME, CAPITAL, ROOTS),
  test_input_required_result_capabilities: createAsking(NAME, CAPITAL),
  same_names: createAsking(NAME, { ...ROOTS, name: NAME.name }),
  test_input_required_result_multi_round: createGraph(() => {
    const { name } = interrupt<object, { name: string }>(NAME);
    const { color } = interrupt<object, { color: string }>(COLOR);
    return { messages: [new AIMessage(`${name} likes ${color}.`)] };
  }),
  json_schema_2020_12_tool: new StateGraph({ state: State, input: Contact })
    .addNode("answer", () => ({ messages: [new AIMessage("Taken.")] }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile(),
  test_simple_text: createGraph(() => ({ messages: [new AIMessage("This is a simple text response for testing.")] })),
  test_error_handling: createGraph(() => {
    throw new Error("This tool intentionally returns an error for testing");
  }),
});
