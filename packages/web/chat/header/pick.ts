/** Picks the assistant of a conversation from what is known. */
import type { Assistant, ThreadRow } from "../../api/types.ts";

const text = (value: unknown) => (typeof value === "string" ? value : undefined);

/** The assistant that a thread ran with first, and its graph. Both are undefined before its first run. */
export function readAssistant(thread: ThreadRow | undefined): { id: string | undefined; graph: string | undefined } {
  const graph = text(thread?.metadata?.graph_id);
  return { id: text(thread?.metadata?.assistant_id) ?? graph, graph };
}

export const hasAssistant = (thread: ThreadRow | undefined): thread is ThreadRow =>
  readAssistant(thread).id !== undefined;

/** The assistant that the server made for the graph "agent" comes before those that people configured from it. */
const isDefault = (one: Assistant) => one.graph_id === "agent" && one.metadata?.created_by === "system";

/** The assistant of a new thread: the one used last, the default one of the graph "agent", another of it, or the first. */
export function assistantForNew(assistants: Assistant[], chosen: string | undefined): Assistant | undefined {
  return (
    assistants.find((one) => one.assistant_id === chosen) ??
    assistants.find((one) => one.graph_id === chosen) ??
    assistants.find(isDefault) ??
    assistants.find((one) => one.graph_id === "agent") ??
    assistants[0]
  );
}
