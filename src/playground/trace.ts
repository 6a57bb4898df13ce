/** The trace of a call: one run of a model, in a project of its own. */
import { storeOwnRuns } from "../traces/own-runs.ts";
import type { Answer } from "../traces/playground/completion.ts";
import type { Fault } from "./errors.ts";
import type { ReachedModel } from "./model.ts";
import { type FilledCall, openAiMessage } from "./request.ts";

export const PROJECT = "playground";

export interface TracedCall {
  id: string;
  workspaceId: string;
  /** Milliseconds. */
  start: number;
  firstToken?: number;
  end: number;
  model: ReachedModel;
  call: FilledCall;
  answer: Answer;
  fault?: Fault;
  /** The prompt and its commit. */
  prompt?: { name: string; hash: string };
}

/** Stores the run. A deployment without traces of its own (TRACE_PROJECT is empty) stores none. */
export async function traceCall(env: Env, traced: TracedCall): Promise<void> {
  if (env.TRACE_PROJECT !== "") await storeOwnRuns(env, traced.workspaceId, [toRun(traced)]);
}

function toRun({ id, start, firstToken, end, model, call, answer, fault, prompt }: TracedCall) {
  const { messages, tools, settings } = call;
  const [start_time = "", end_time] = [start, end].map((time) => new Date(time).toISOString());
  const calls = answer.toolCalls;
  const message = openAiMessage({ role: "ai", content: answer.content, tool_calls: calls });
  return {
    id,
    trace_id: id,
    // The six digits of microseconds.
    dotted_order: `${start_time.slice(0, -1).replaceAll(/[-:.]/g, "")}000Z${id}`,
    name: model.name,
    run_type: "llm",
    session_name: PROJECT,
    start_time,
    end_time,
    inputs: { messages: messages.map(openAiMessage) },
    ...((answer.content !== "" || calls.length > 0) && {
      outputs: { message, ...(answer.usage && { usage_metadata: answer.usage }) },
    }),
    ...(fault && { error: fault.message }),
    ...(firstToken !== undefined && {
      events: [{ name: "new_token", time: new Date(firstToken).toISOString() }],
    }),
    extra: {
      metadata: {
        ls_provider: model.provider,
        ls_model_name: model.name,
        ls_model_type: "chat",
        ...(typeof settings["temperature"] === "number" && { ls_temperature: settings["temperature"] }),
        ...(fault && { error_kind: fault.kind }),
        ...(prompt && { prompt: prompt.name, prompt_commit: prompt.hash }),
      },
      invocation_params: { model: model.name, ...settings, ...(tools.length > 0 && { tools }) },
    },
  };
}
