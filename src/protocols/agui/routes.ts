/** `POST /agui/{assistant_id}`: a run, or a thread, in the Agent-User Interaction protocol (AG-UI), as server-sent events. */
import { requireAssistant, type ThreadCaller } from "../../threads/api/access.ts";
import { threadStub } from "../../threads/remote.ts";
import { deriveThreadId, type Thread } from "../../threads/types.ts";
import { EventReducer, METHODS } from "./events.ts";
import { RunAgentInput } from "./schema.ts";
import { spokenIds } from "./conversation.ts";
import type { AguiEvent } from "./speech.ts";
import { visibleThread, planStart } from "./start.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { createDoc, EVENTS } from "../../http/route.ts";
import { logError } from "../../lib/log.ts";
import { toProblem } from "../../lib/problem.ts";
import { sseFrame, sseResponse } from "../../http/sse.ts";
import type { App } from "../../http/context.ts";
import { body, param } from "../../http/validate.ts";
import { readConfigurable } from "../../threads/api/request.ts";
import { cancellingClient } from "../../threads/api/run-routes.ts";
import { readEvents } from "../../threads/log/events.ts";
import { listInterrupts } from "../../threads/interrupts/waiting.ts";

// What a client gets that opens a thread: the conversation so far, and the events of a run that is at work.

export interface AguiConnection {
  reducer: EventReducer;
  begin: AguiEvent[];
  /** The events of the run that is at work; undefined when `begin` is all. */
  events?: ReadableStream<Uint8Array>;
}

/** Reads the thread of a request, and starts nothing. A thread that does not exist has an empty conversation. */
export async function connect(by: ThreadCaller, assistantId: string, input: RunAgentInput): Promise<AguiConnection> {
  const { env, principal } = by;
  await requireAssistant(env, principal, assistantId);
  const threadId = deriveThreadId(input.threadId, principal.user?.identity);
  const thread = threadStub(env, principal.workspaceId, threadId);
  const found = await visibleThread(by, threadId, thread);
  const reducer = new EventReducer({ threadId: input.threadId, runId: input.runId });
  const [run] = found ? await thread.openRuns(1) : [];
  if (run?.status !== "running") return { reducer, begin: reducer.resting(found && readConversation(found)) };
  const events = await thread.follow({ after: 0, runId: run.run_id, methods: METHODS });
  return { reducer, begin: reducer.started([]), events };
}

function readConversation({ values, interrupts, status }: Thread) {
  const asked = listInterrupts(interrupts).map(({ id = "", value }) => ({ interrupt_id: id, payload: value }));
  return { values: values ?? {}, asked, stopped: status === "interrupted" };
}

const doc = (summary: string) => createDoc("AG-UI")(summary, EVENTS);

const Path = v.object({ assistant_id: v.pipe(v.string(), v.maxLength(255)) });

/** The last event also of a stream that fails: a client that gets none waits or fails without a reason. */
async function* frames({ reducer, begin, events }: AguiConnection): AsyncGenerator<string, void, void> {
  const frame = (event: AguiEvent) => sseFrame({ data: JSON.stringify(event) });
  yield begin.map(frame).join("");
  if (!events) return;
  try {
    for await (const event of readEvents(events)) {
      const shown = reducer.apply(event);
      if (shown.length > 0) yield shown.map(frame).join("");
      if (reducer.ended) return;
    }
    yield reducer.lost().map(frame).join("");
  } catch (error) {
    const { status, detail } = toProblem(error);
    if (status >= 500) logError(error);
    yield reducer.lost(detail).map(frame).join("");
  }
}

export const agui = new Hono<App>();

agui.post("/:assistant_id", doc("Run an assistant over AG-UI 1.0"), param(Path), body(RunAgentInput), async (c) => {
  const input = c.req.valid("json");
  const principal = c.get("principal");
  const configurable = readConfigurable(c.req.raw.headers, principal);
  const by = { env: c.env, principal, configurable, via: "agui" as const };
  const { thread, threadId, request } = await planStart(by, c.req.valid("param").assistant_id, input);
  const started = thread.startAndFollow(request, { methods: METHODS });
  const client = request.on_disconnect === "cancel" ? cancellingClient(c, thread, request.run_id, started) : undefined;
  const events = await started;
  const { threadId: named, runId } = input;
  const headers = { "content-location": `/threads/${threadId}/runs/${request.run_id}` };
  const reducer = new EventReducer({ threadId: named, runId });
  const begin = reducer.started(spokenIds(input.messages));
  return sseResponse(frames({ reducer, begin, events }), headers, client);
});

const connectDoc = doc("Read a thread over AG-UI 1.0: its conversation, and the run that is at work");
agui.post("/:assistant_id/connect", connectDoc, param(Path), body(RunAgentInput), async (c) => {
  const by = { env: c.env, principal: c.get("principal"), configurable: {} };
  return sseResponse(frames(await connect(by, c.req.valid("param").assistant_id, c.req.valid("json"))));
});
