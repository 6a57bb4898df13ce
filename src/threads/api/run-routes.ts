/** `/threads/{id}/runs` and the stateless `/runs`. */
import { UNCOMPRESSED } from "../../http/middleware.ts";
import { toProblem, Problem } from "../../lib/problem.ts";
import type { ThreadRpc, RunRequest } from "../rpc.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { selectableList, cutPage, selectFields } from "../../http/shapes.ts";
import { createDoc, EVENTS, NOTHING } from "../../http/route.ts";
import { serverAddress, type App, idempotentId } from "../../http/context.ts";
import { sseBytes } from "../../http/sse.ts";
import { guardStream, type WatchedClient } from "../../lib/streams.ts";
import { body, param, query } from "../../http/validate.ts";
import { readWebhook } from "../../deliveries/receiver.ts";
import { requireFound, openThread } from "./access.ts";
import { cancelEverywhere } from "./activity.ts";
import { forEach } from "../limits.ts";
import { readConfigurable, runRequest } from "./request.ts";
import { Run, RunResult } from "../types.ts";
import * as schema from "./schema.ts";
import { ThreadParam } from "./schema.ts";

type C = Context<App>;

// `/wait` and `/join`: the body is newlines while the run is open, then the JSON of its result.

/** Newlines keep proxies from closing an idle connection; JSON parsers skip them. */
const NEWLINE = new TextEncoder().encode("\n");

/**
 * The result of a run: its final values, with `__interrupt__` where it paused, or `{__error__: {error, message}}`. Always
 * 200. If the result cannot be read to its end, the connection fails: the client must not read a part as the whole
 * result.
 */
export function waitResponse(thread: ThreadRpc, runId: string, path: string, client?: WatchedClient): Response {
  const result = thread.join(runId);
  result.catch(() => undefined);
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let begun = false;
  const next = async () => {
    if (begun && !reader) return undefined;
    try {
      reader ??= (await result).getReader();
      const { value } = await reader.read();
      begun = true;
      return value;
    } catch (error) {
      if (begun) throw error;
      begun = true;
      reader = undefined;
      const message = toProblem(error).detail;
      return new TextEncoder().encode(JSON.stringify({ __error__: { error: "Error", message } }));
    }
  };
  const leave = async () => reader?.cancel();
  return new Response(guardStream({ next, leave }, NEWLINE, { client }), {
    headers: {
      "content-type": "application/json",
      "content-location": path,
      location: `${path}/join`,
      ...UNCOMPRESSED,
    },
  });
}

/** A client whose run is cancelled when it disconnects. `made` is the call that makes the run: it ends also without the client. */
export function cancellingClient(c: C, thread: ThreadRpc, runId: string, made?: Promise<unknown>): WatchedClient {
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work.catch(() => undefined));
  if (made) waitUntil(made);
  const onLeave = async () => thread.cancelMany({ runIds: [runId] }, "interrupt");
  return { signal: c.req.raw.signal, onLeave, waitUntil };
}

const doc = createDoc("Runs");
const runBody = body(schema.RunCreate, { members: schema.RUN_MEMBERS, exact: true });

/** Of a cancellation that stopped nothing: the status with which the run had ended before. */
const ENDED_HEADER = "x-weir-run-ended";

async function readRunRequest(
  c: C,
  threadId: string,
  given: schema.RunCreate,
  runId = idempotentId(c),
): Promise<RunRequest> {
  const { webhook, own_webhook } = readWebhook(c, given.webhook);
  const principal = c.get("principal");
  const by = { env: c.env, principal, configurable: readConfigurable(c.req.raw.headers, principal) };
  const request = { ...(await runRequest(by, threadId, { ...given, webhook }, runId)), own_webhook };
  // What its end gives links for.
  const hasLinks = request.feedback_keys !== undefined || webhook !== undefined;
  return hasLinks ? { ...request, origin: serverAddress(c) } : request;
}

/** A stateless run has its own thread with the run's id, so that it can be found again. */
async function statelessRequest(c: C, given: schema.RunCreate, runId = idempotentId(c)): Promise<RunRequest> {
  if (given.command?.resume !== undefined)
    throw new Problem(400, "A stateless run has nothing to resume: command.resume needs a thread.");
  const request = await readRunRequest(c, runId, { ...given, if_not_exists: "create" }, runId);
  const temporary = (given.on_completion ?? "delete") === "delete";
  return { ...request, temporary, keep_until: c.get("idempotency")?.ends };
}

/** The run as it was accepted. Whether it has already begun depends on the moment, and clients compare the status. */
const showAccepted = (run: Run): Run => (run.status === "running" ? { ...run, status: "pending" } : run);

function answerCreated(c: C, run: Run, base: string): Response {
  return c.json(showAccepted(run), 200, { "content-location": `${base}/runs/${run.run_id}` });
}

/** Starts a run and waits for its result. */
async function startedResult(c: C, threadId: string, request: RunRequest): Promise<Response> {
  const thread = openThread(c, threadId);
  const { run_id, on_disconnect } = request;
  const started = thread.startRun(request);
  const client = on_disconnect === "cancel" ? cancellingClient(c, thread, run_id, started) : undefined;
  await started;
  return waitResponse(thread, run_id, `/threads/${threadId}/runs/${run_id}`, client);
}

/** The result of a run that a client names; 404 when there is none. */
async function joinedResult(c: C, threadId: string, runId: string, cancels: boolean): Promise<Response> {
  const thread = openThread(c, threadId);
  requireFound(await thread.getRun(runId), "Run");
  const client = cancels ? cancellingClient(c, thread, runId) : undefined;
  return waitResponse(thread, runId, `/threads/${threadId}/runs/${runId}`, client);
}

/** Starts a run and streams it. `base` is the path of its thread, empty for a stateless run. */
async function startedStream(
  c: C,
  threadId: string,
  request: RunRequest,
  namespaces: string[] | undefined,
  base: string,
): Promise<Response> {
  const thread = openThread(c, threadId);
  const { run_id, on_disconnect } = request;
  const started = thread.startAndStream(request, { namespaces });
  const client = on_disconnect === "cancel" ? cancellingClient(c, thread, run_id, started) : undefined;
  const path = `${base}/runs/${run_id}`;
  return sseBytes(await started, { "content-location": path, location: `${path}/stream` }, client);
}

/** Streams a run that was started before: from after Last-Event-ID, or from its beginning (`-1`, or none). */
async function joinedStream(
  c: C,
  threadId: string,
  runId: string,
  options: v.InferOutput<typeof schema.JoinQuery>,
): Promise<Response> {
  const thread = openThread(c, threadId);
  const frames = await thread.streamRun(runId, {
    modes: options.stream_mode,
    namespaces: options.namespace,
    seen: Number(c.req.header("last-event-id") ?? -1) || 0,
    // What the caller shows already. A real Last-Event-ID takes precedence.
    checkpointId: options.checkpoint_id,
  });
  return sseBytes(frames, undefined, options.cancel_on_disconnect ? cancellingClient(c, thread, runId) : undefined);
}

export const threadRuns = new Hono<App>()
  .post("/:thread_id/runs", doc("Start a run in the background", Run), param(ThreadParam), runBody, async (c) => {
    const { thread_id } = c.req.valid("param");
    const request = await readRunRequest(c, thread_id, c.req.valid("json"));
    const run = await openThread(c, thread_id).startRun(request);
    return answerCreated(c, run, `/threads/${thread_id}`);
  })
  .post(
    "/:thread_id/runs/stream",
    doc("Start a run and stream its events (SSE)", EVENTS),
    param(ThreadParam),
    query(schema.StreamQuery),
    runBody,
    async (c) => {
      const { thread_id } = c.req.valid("param");
      const request = await readRunRequest(c, thread_id, c.req.valid("json"));
      return startedStream(c, thread_id, request, c.req.valid("query").namespace, `/threads/${thread_id}`);
    },
  )
  .post(
    "/:thread_id/runs/wait",
    doc("Start a run and wait for its final state", RunResult),
    param(ThreadParam),
    runBody,
    async (c) => {
      const { thread_id } = c.req.valid("param");
      return startedResult(c, thread_id, await readRunRequest(c, thread_id, c.req.valid("json")));
    },
  )
  .get(
    "/:thread_id/runs",
    doc("List runs, newest first", selectableList(Run)),
    param(ThreadParam),
    query(schema.RunsQuery),
    async (c) => {
      const { limit, offset, status, select } = c.req.valid("query");
      const rows = await openThread(c, c.req.valid("param").thread_id).listRuns({ limit: limit + 1, offset, status });
      const { items, headers } = cutPage(rows, limit, offset);
      return c.json(
        items.map((run) => selectFields(run, select)),
        200,
        headers,
      );
    },
  )
  .get("/:thread_id/runs/:run_id", doc("Get a run", Run), param(schema.RunParam), async (c) => {
    const { thread_id, run_id } = c.req.valid("param");
    return c.json(requireFound(await openThread(c, thread_id).getRun(run_id), "Run"));
  })
  .delete("/:thread_id/runs/:run_id", doc("Delete a run", NOTHING), param(schema.RunParam), async (c) => {
    const { thread_id, run_id } = c.req.valid("param");
    const thread = openThread(c, thread_id);
    requireFound(await thread.getRun(run_id), "Run");
    await audit(c, { action: "run.deleted", targetId: run_id, detail: { thread_id } });
    if (!(await thread.deleteRun(run_id))) throw new Problem(404, "Run not found.");
    return c.body(null, 204);
  })
  .get(
    "/:thread_id/runs/:run_id/join",
    doc("Wait for a run's final state", RunResult),
    param(schema.RunParam),
    query(schema.JoinQuery),
    async (c) => {
      const { thread_id, run_id } = c.req.valid("param");
      return joinedResult(c, thread_id, run_id, c.req.valid("query").cancel_on_disconnect);
    },
  )
  .get(
    "/:thread_id/runs/:run_id/stream",
    doc("Join a run's stream, from Last-Event-ID or its beginning (SSE)", EVENTS),
    param(schema.RunParam),
    query(schema.JoinQuery),
    async (c) => {
      const { thread_id, run_id } = c.req.valid("param");
      return joinedStream(c, thread_id, run_id, c.req.valid("query"));
    },
  )
  .post(
    "/:thread_id/runs/:run_id/cancel",
    doc("Stop a run", { 202: {}, ...NOTHING }),
    param(schema.RunParam),
    query(schema.CancelQuery),
    async (c) => {
      const { thread_id, run_id } = c.req.valid("param");
      const { action, wait } = c.req.valid("query");
      const ended = await openThread(c, thread_id).cancel(run_id, action, wait);
      // A client that starts a run and stops it must not see an error because the run was fast.
      return c.body(null, wait ? 204 : 202, ended && { [ENDED_HEADER]: ended });
    },
  );

export const statelessRuns = new Hono<App>()
  .post("/", doc("Start a stateless run in the background", Run), runBody, async (c) => {
    const request = await statelessRequest(c, c.req.valid("json"));
    return answerCreated(c, await openThread(c, request.run_id).startRun(request), "");
  })
  .post(
    "/stream",
    doc("Start a stateless run and stream its events (SSE)", EVENTS),
    query(schema.StreamQuery),
    runBody,
    async (c) => {
      const request = await statelessRequest(c, c.req.valid("json"));
      return startedStream(c, request.run_id, request, c.req.valid("query").namespace, "");
    },
  )
  .post("/wait", doc("Start a stateless run and wait for its final state", RunResult), runBody, async (c) => {
    const request = await statelessRequest(c, c.req.valid("json"));
    return startedResult(c, request.run_id, request);
  })
  .post(
    "/batch",
    doc("Start several stateless runs in the background", v.array(Run)),
    body(schema.RunBatch, { members: schema.RUN_MEMBERS, exact: true }),
    async (c) => {
      const requests = await forEach([...c.req.valid("json").entries()], ([n, one]) =>
        statelessRequest(c, one, idempotentId(c, String(n))),
      );
      return c.json(
        await forEach(requests, async (request) => showAccepted(await openThread(c, request.run_id).startRun(request))),
      );
    },
  )
  .post(
    "/cancel",
    doc("Stop many runs, by status or by their ids on one thread", NOTHING),
    query(schema.CancelQuery),
    body(schema.BulkCancel),
    async (c) => {
      const { status, thread_id, run_ids } = c.req.valid("json");
      const byIds = Boolean(thread_id && run_ids);
      if (byIds === Boolean(status) || (!byIds && (thread_id || run_ids))) {
        throw new Problem(422, "Give either status, or thread_id together with run_ids.");
      }
      const { action } = c.req.valid("query");
      if (thread_id) await openThread(c, thread_id).cancelMany({ runIds: run_ids }, action);
      else await cancelEverywhere(c.env, c.get("principal").workspaceId, status, action);
      return c.body(null, 204);
    },
  )
  .get(
    "/:run_id/stream",
    doc("Join a stateless run's stream (SSE)", EVENTS),
    param(schema.StatelessRunParam),
    query(schema.JoinQuery),
    async (c) => {
      const { run_id } = c.req.valid("param");
      return joinedStream(c, run_id, run_id, c.req.valid("query"));
    },
  )
  .get(
    "/:run_id/join",
    doc("Wait for a stateless run's final state", RunResult),
    param(schema.StatelessRunParam),
    query(schema.JoinQuery),
    async (c) => {
      const { run_id } = c.req.valid("param");
      return joinedResult(c, run_id, run_id, c.req.valid("query").cancel_on_disconnect);
    },
  );
