/** `POST /agui/{assistant_id}`: a run, or a thread, in the Agent-User Interaction protocol (AG-UI), as server-sent events. */
import { Hono } from "hono";
import * as v from "valibot";
import { createDoc, EVENTS } from "../../http/route.ts";
import { logError } from "../../lib/log.ts";
import { toProblem } from "../../lib/problem.ts";
import { sseFrame, sseResponse } from "../../http/sse.ts";
import type { App } from "../../http/context.ts";
import { body, param } from "../../http/validate.ts";
import { readConfigurable } from "../../threads/api/request.ts";
import { readEvents } from "../../threads/log/events.ts";
import { connect, type Connection } from "../../agui/connect.ts";
import { EventReducer, METHODS } from "./events.ts";
import { RunAgentInput } from "./schema.ts";
import type { AguiEvent } from "./speech.ts";
import { planStart } from "./start.ts";

const doc = (summary: string) => createDoc("AG-UI")(summary, EVENTS);

const Path = v.object({ assistant_id: v.pipe(v.string(), v.maxLength(255)) });

/** The last event also of a stream that fails: a client that gets none waits or fails without a reason. */
async function* frames({ reducer, begin, events }: Connection): AsyncGenerator<string, void, void> {
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
  const { thread, threadId, request, before } = await planStart(by, c.req.valid("param").assistant_id, input);
  const cancelOnDisconnect = request.on_disconnect === "cancel";
  const events = await thread.startAndFollow(request, { methods: METHODS, cancelOnDisconnect });
  const { threadId: named, runId } = input;
  const headers = { "content-location": `/threads/${threadId}/runs/${request.run_id}` };
  const reducer = new EventReducer({ threadId: named, runId });
  return sseResponse(frames({ reducer, begin: reducer.started(before), events }), headers);
});

const connectDoc = doc("Read a thread over AG-UI 1.0: its conversation, and the run that is at work");
agui.post("/:assistant_id/connect", connectDoc, param(Path), body(RunAgentInput), async (c) => {
  const by = { env: c.env, principal: c.get("principal"), configurable: {} };
  return sseResponse(frames(await connect(by, c.req.valid("param").assistant_id, c.req.valid("json"))));
});
