/**
 * Events as the Python SDK reads them. Its projections compare namespaces for equality, and LangGraph in Python names a
 * message and a tool call by their graph, where LangGraph in JavaScript names them by their node. Its iterators end at a
 * root `completed` or `failed` only. Its servers stream what models say. A node's own message comes with the state, so
 * one without text is not shown as an empty message.
 */
import type { Json } from "../lib/json.ts";
import type { EventText } from "../threads/log/events.ts";
import { protocolEvent, type ProtocolEvent } from "../protocols/streaming/events.ts";

const CANCELLED = "The run was cancelled.";

/** How the JSON of such an event begins, and a member of it. */
const START = '{"event":"message-start"';
const TEXTLESS = '"textless":true';

/** The framing of one connection. It records which graphs have begun. */
export function pythonEvents(channels: string[]): (event: EventText) => ProtocolEvent | undefined {
  const graphs = new Set<string>();
  const hearsInput = channels.some((channel) => channel.startsWith("input"));
  const lifecycle = (event: EventText): EventText | undefined => {
    const data = JSON.parse(event.text()) as Json;
    if (event.ns.length === 0) return withData(event, rootEvent(data, hearsInput));
    if (data.event !== "started") return graphs.has(event.ns.join("|")) ? event : undefined;
    // A node that begins shows that the graph around it has begun. The root graph has events of its own.
    const graph = event.ns.slice(0, -1);
    if (graph.length === 0 || graphs.has(graph.join("|"))) return undefined;
    graphs.add(graph.join("|"));
    return withData({ ...event, ns: graph }, { ...data, graph_name: graph.at(-1)?.split(":")[0] });
  };
  /** The `run_id` of each whole message without text that has begun. */
  const textless = new Set<unknown>();
  const isTextless = (event: EventText): boolean => {
    const text = event.text();
    if (textless.size === 0 && !(text.startsWith(START) && text.includes(TEXTLESS))) return false;
    const data = JSON.parse(text) as Json;
    if (data.event === "message-start" && data.textless === true) textless.add(data.run_id);
    if (!textless.has(data.run_id)) return false;
    if (data.event === "message-finish") textless.delete(data.run_id);
    return true;
  };
  return (event) => {
    const { method, ns } = event;
    if (method === "messages" && isTextless(event)) return undefined;
    if (method === "messages" || method === "tools") return protocolEvent({ ...event, ns: ns.slice(0, -1) });
    const shown = method === "lifecycle" ? lifecycle(event) : event;
    return shown && protocolEvent(shown);
  };
}

/**
 * A root event. The SDK waits without end after an `interrupted` that no input follows. A stream that does not
 * subscribe to `input` cannot see the question, so a pause ends it too.
 */
function rootEvent(data: Json, hearsInput: boolean): Json {
  if (data.event !== "interrupted") return data;
  if (data.reason === "cancel") return { ...data, event: "failed", error: CANCELLED };
  return data.reason !== "breakpoint" && hearsInput ? data : { ...data, event: "completed" };
}

function withData(event: EventText, data: Json): EventText {
  return { ...event, text: () => JSON.stringify(data) };
}
