/** Events that a graph dispatches under the names which `@ag-ui/langgraph` and CopilotKit give a meaning of their own. */
import type { Json } from "../lib/json.ts";
import { isObject } from "../lib/json.ts";

/** What an event amounts to: a message, a tool call or a state that the graph emits whole, or something of its own. */
export type Dispatched =
  | { kind: "message"; id: string; text: string }
  | { kind: "call"; id: string; name: string; args: string }
  | { kind: "state"; state: Json; name: string; value: unknown }
  | { kind: "custom"; name: string; value: unknown };

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? {}));

/** Reads LangChain's `on_custom_event`; undefined for its other events. */
export function readDispatched({ event, name, data }: Json): Dispatched | undefined {
  if (event !== "on_custom_event") return undefined;
  const custom = { name: String(name), value: data ?? null };
  const given = isObject(data) ? data : {};
  switch (custom.name.replace(/^copilotkit_/, "")) {
    case "manually_emit_message":
      if (typeof given.message_id !== "string" || typeof given.message !== "string") break;
      return { kind: "message", id: given.message_id, text: given.message };
    case "manually_emit_tool_call":
      if (typeof given.id !== "string" || typeof given.name !== "string") break;
      return { kind: "call", id: given.id, name: given.name, args: asText(given.args) };
    case "manually_emit_state":
    case "manually_emit_intermediate_state":
      if (isObject(data)) return { kind: "state", state: data, ...custom };
  }
  return { kind: "custom", ...custom };
}
