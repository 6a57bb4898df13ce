/** A tool call: a stateless run of the assistant, waited for. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Assistant } from "../assistants/store.ts";
import type { Caller } from "../threads/requests/access.ts";
import { runRequest } from "../threads/requests/runs/request.ts";
import type { Json } from "../json.ts";
import { readJson, threadStub } from "../threads/stub.ts";

/** The run of a tool call. */
export interface ToolRun {
  id: string;
  /** How long the run is kept at least, milliseconds since 1970. */
  keepUntil?: number;
}

/** The final state as JSON text; a failed run, or one that a node interrupted, is an error that the model can read. */
export async function callAssistant(
  by: Caller,
  { assistant_id }: Assistant,
  input: Json,
  { id: runId, keepUntil }: ToolRun,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const request = await runRequest(by, runId, { assistant_id, input, if_not_exists: "create" }, runId);
  const thread = threadStub(by.env, by.principal.workspaceId, runId);
  await thread.startRun({ ...request, temporary: true, keep_until: keepUntil });
  const cancel = () => void thread.cancelMany({ runIds: [runId] }, "interrupt").catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return toWire(await readJson(await thread.join(runId)));
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function toWire(result: Json): CallToolResult {
  const failed = result.__error__ as { error: string; message: string } | undefined;
  const text = failed ? `${failed.error}: ${failed.message}` : JSON.stringify(result);
  return { content: [{ type: "text", text }], isError: failed !== undefined || "__interrupt__" in result };
}
