/** One call of a model: its frames as they are sent, and what is kept of it. */
import { logError } from "../http/log.ts";
import { sseFrame } from "../http/sse.ts";
import { Answer, chunksIn } from "./answer.ts";
import { ModelFailure, withoutKeys } from "./errors.ts";
import type { ReachedModel } from "./model.ts";
import { type FilledCall, requestBody } from "./request.ts";
import type { Spending } from "./spend.ts";
import { traceCall } from "./trace.ts";
import { within } from "./within.ts";

/** Milliseconds of a whole call. */
export const CALL_MS = 300_000;

export interface Started {
  env: Env;
  id: string;
  workspaceId: string;
  model: ReachedModel;
  call: FilledCall;
  spending: Spending;
  prompt?: { name: string; hash: string };
}

const frame = (event: string, data: object) => sseFrame({ event, data: JSON.stringify(data) });

/**
 * The frames `run`, `delta` and `end` or `error`. A reader that leaves stops the model. `kept` is called with the work that the
 * platform must not cut off: what was paid is traced and counted also without a reader.
 */
export function callFrames(started: Started, kept: (work: Promise<void>) => void): AsyncIterator<string> {
  const left = new AbortController();
  const finished = Promise.withResolvers<void>();
  kept(finished.promise);
  const frames = framesOf(started, left.signal, finished.resolve);
  let begun = false;
  return {
    next: async () => {
      begun = true;
      return frames.next();
    },
    return: async () => {
      left.abort(new ModelFailure("Stopped by the caller."));
      if (!begun) finished.resolve();
      // The read of the model's next chunk fails now, and the rest is kept as of an answer that failed.
      else for (let one = await frames.next(); !one.done;) one = await frames.next();
      return { done: true, value: undefined };
    },
  };
}

async function* framesOf(started: Started, left: AbortSignal, finished: () => void): AsyncGenerator<string> {
  const { env, id, workspaceId, model, call, spending, prompt } = started;
  const answer = new Answer();
  const start = Date.now();
  let firstToken: number | undefined;
  let error: string | undefined;
  try {
    yield frame("run", { run_id: id, provider: model.provider, model: model.name });
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
      yield frame("delta", delta);
    }
    if (answer.finish === undefined) throw new ModelFailure("The model's answer ended before its end.");
  } catch (fault) {
    error = textOf(fault, left, model.key);
  }
  const end = Date.now();
  const usage = spending.priced(answer.usage);
  try {
    await traceCall(env, {
      id,
      workspaceId,
      start,
      end,
      model,
      call,
      answer,
      ...(firstToken !== undefined && { firstToken }),
      ...(error !== undefined && { error }),
      ...(prompt && { prompt }),
    });
    await spending.count(usage);
  } catch (fault) {
    logError(fault, { while: "keeping a call of the playground", run: id });
  } finally {
    finished();
  }
  const took = { seconds: (end - start) / 1000, first_token_seconds: firstToken && (firstToken - start) / 1000 };
  const figures = { ...took, usage: answer.usage ?? null, cost: usage?.total_cost ?? null };
  if (error !== undefined) yield frame("error", { message: error, ...figures });
  else {
    const message = { role: "ai", content: answer.content, tool_calls: answer.toolCalls };
    yield frame("end", { message, finish_reason: answer.finish, ...figures });
  }
}

/** What the caller may read of a failure. */
function textOf(fault: unknown, left: AbortSignal, key: string | undefined): string {
  if (left.aborted) return "Stopped by the caller.";
  if (fault instanceof ModelFailure) return withoutKeys(fault.message, key);
  if (fault instanceof Error && fault.name === "TimeoutError")
    return `The model did not finish within ${CALL_MS / 1000} seconds.`;
  logError(fault, { while: "calling a model for the playground" });
  return "The connection to the model failed.";
}
