/** One call of a model: its frames as they are sent, and what is kept of it. */
import { storeOwnRuns } from "../own-runs.ts";
import { Completion, type CallFault, chunksIn, ModelFailure, withoutKeys, within } from "./completion.ts";
import type { ReachedModel } from "./model.ts";
import { type FilledCall, openAiMessage, requestBody } from "./messages.ts";
import { logError } from "../../lib/log.ts";
import { runAll } from "../../lib/parallel.ts";
import { sseFrame } from "../../http/sse.ts";
import type { CallSpending } from "./spend.ts";

// The trace of a call: one run of a model, in a project of its own.

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
  answer: Completion;
  fault?: CallFault;
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

/** Milliseconds of a whole call. */
export const CALL_MS = 300_000;

export interface Started {
  env: Env;
  id: string;
  workspaceId: string;
  model: ReachedModel;
  call: FilledCall;
  spending: CallSpending;
  prompt?: { name: string; hash: string };
  /** Keeps the frames for a repetition of the request. */
  keep?: (text: string) => Promise<void>;
}

/** Characters of frames that are held to be kept. */
const MAX_HELD_FRAMES = 1_000_000;

const frame = (event: string, data: object) => sseFrame({ event, data: JSON.stringify(data) });

/** What is sent while the model says nothing. The platform reports that a reader has left only when a write fails. */
const PING = ": waiting\n\n";
const PING_MS = 500;

/**
 * The frames `run`, `delta` and `end` or `error`. A reader that leaves stops the model. `kept` is called with the work that the
 * platform must not cut off: what was paid is traced and counted also without a reader.
 */
export function callFrames(started: Started, kept: (work: Promise<void>) => void): AsyncIterator<string> {
  const left = new AbortController();
  const finished = Promise.withResolvers<void>();
  kept(finished.promise);
  const frames = writeFrames(started, left.signal, finished.resolve);
  let waiting: Promise<IteratorResult<string>> | undefined;
  let begun = false;
  return {
    next: async () => {
      begun = true;
      waiting ??= frames.next();
      const one = await waitAtMost(PING_MS, waiting);
      if (one === undefined) return { done: false, value: PING };
      waiting = undefined;
      return one;
    },
    return: async () => {
      left.abort(new ModelFailure("Stopped by the caller."));
      if (!begun) finished.resolve();
      // The read of the model's next chunk fails now, and the rest is kept as of an answer that failed.
      else for (let one = await (waiting ?? frames.next()); !one.done;) one = await frames.next();
      return { done: true, value: undefined };
    },
  };
}

/** The value, or undefined when it does not come in time. */
async function waitAtMost<T>(millis: number, work: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), millis);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

async function* writeFrames(started: Started, left: AbortSignal, finished: () => void): AsyncGenerator<string> {
  const { env, id, workspaceId, model, call, spending, prompt } = started;
  const answer = new Completion();
  const start = Date.now();
  let firstToken: number | undefined;
  let fault: CallFault | undefined;
  let held: string | undefined = started.keep && "";
  const hold = (one: string) => {
    held = held === undefined || held.length + one.length > MAX_HELD_FRAMES ? undefined : held + one;
    return one;
  };
  try {
    yield hold(frame("run", { run_id: id, provider: model.provider, model: model.name }));
    const signal = AbortSignal.any([left, AbortSignal.timeout(CALL_MS)]);
    const asked = model.send(model.url, {
      method: "POST",
      redirect: "manual",
      signal,
      headers: { "content-type": "application/json", ...(model.key && { authorization: `Bearer ${model.key}` }) },
      body: JSON.stringify(requestBody(model.name, call)),
    });
    for await (const chunk of chunksIn(await within(signal, asked), signal)) {
      const delta = answer.take(chunk);
      if (!delta) continue;
      firstToken ??= Date.now();
      yield hold(frame("delta", delta));
    }
    if (answer.finish === undefined) throw new ModelFailure("The model's answer ended before its end.");
  } catch (error) {
    fault = describeFault(error, left, model.key);
  }
  const end = Date.now();
  const usage = spending.priced(answer.usage);
  const took = { seconds: (end - start) / 1000, first_token_seconds: firstToken && (firstToken - start) / 1000 };
  const figures = { ...took, usage: answer.usage ?? null, cost: usage?.total_cost ?? null };
  const message = { role: "ai", content: answer.content, tool_calls: answer.toolCalls };
  const last = fault
    ? frame("error", { ...fault, ...figures })
    : frame("end", { message, finish_reason: answer.finish, ...figures });
  hold(last);
  const traced = {
    id,
    workspaceId,
    start,
    end,
    model,
    call,
    answer,
    ...(firstToken !== undefined && { firstToken }),
    ...(fault && { fault }),
    ...(prompt && { prompt }),
  };
  // A failure is logged there, and the answer is sent all the same.
  await runAll({
    [`tracing the call ${id} of the playground`]: () => traceCall(env, traced),
    [`counting the call ${id} of the playground`]: () => spending.count(usage),
    [`keeping the answer of the call ${id} of the playground`]: async () => held && started.keep?.(held),
  })
    .catch(() => undefined)
    .finally(finished);
  yield last;
}

function describeFault(error: unknown, left: AbortSignal, key: string | undefined): CallFault {
  if (left.aborted) return { kind: "cancelled", message: "Stopped by the caller." };
  if (error instanceof ModelFailure) return { kind: "provider", message: withoutKeys(error.message, key) };
  if (error instanceof Error && error.name === "TimeoutError")
    return { kind: "timeout", message: `The model did not finish within ${CALL_MS / 1000} seconds.` };
  logError(error, { while: "calling a model for the playground" });
  return { kind: "connection", message: "The connection to the model failed." };
}
