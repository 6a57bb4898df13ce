/** The streaming protocol's routes: commands, the stream of events, and the WebSocket that carries both. */
import { keysFor } from "../../access/encryption/keys.ts";
import { rpcProxy } from "../../lib/rpc.ts";
import { retry } from "../../lib/retry.ts";
import { cursorInFrames, resumeBytes } from "../../threads/stream-cursor.ts";
import { sleepOn } from "../../threads/log/sleepers.ts";
import type { ThreadRpc } from "../../threads/rpc.ts";
import { threadObject } from "../../threads/remote.ts";
import { type Dialect, readDialect } from "./python.ts";
import { StreamFilter, ANY_ASSISTANT, Command } from "./schema.ts";
import { type Context, Hono } from "hono";
import { describeRequest } from "../../access/auth/credentials.ts";
import { createDoc, EVENTS } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import { sseBytes } from "../../http/sse.ts";
import type { App } from "../../http/context.ts";
import { body, param } from "../../http/validate.ts";
import { openThread } from "../../threads/api/access.ts";
import { readConfigurable } from "../../threads/api/request.ts";
import { ThreadParam } from "../../threads/api/schema.ts";
import { CommandResponse, runCommand } from "./commands.ts";
import { CALLER_HEADER, type SocketCaller, findStart } from "./socket.ts";

// The RPC methods of a thread that only the streaming protocol uses.

interface StreamingRpc extends Pick<ThreadRpc, "hasEvent"> {
  streamEvents(filter: StreamFilter, after: number | undefined, dialect: Dialect): Promise<ReadableStream<Uint8Array>>;
}

/**
 * SSE frames of what the filter picks after a sequence number: replayed, then live. They never end by themselves, and
 * continue where a restart of the object cuts them.
 */
export async function streamEvents(
  env: Env,
  workspaceId: string,
  threadId: string,
  filter: StreamFilter,
  after: number | undefined,
  dialect: Dialect,
): Promise<ReadableStream<Uint8Array>> {
  const object = () => threadObject(env, workspaceId, threadId);
  const thread = () => rpcProxy<StreamingRpc>(object(), keysFor(env, workspaceId));
  const open = async (last = after) => thread().streamEvents(filter, last, dialect);
  const location = cursorInFrames({ open, has: (seq) => thread().hasEvent(seq) });
  return resumeBytes(await retry(() => open()), location, (seen) => sleepOn(object(), seen));
}

const doc = createDoc("Streaming");

/** Served under `/threads`, where the SDK's clients look, and under `/api/threads`, where applications do. */
export const streaming = new Hono<App>()
  .post(
    "/:thread_id/commands",
    doc("Send a command: run.start, input.respond, state.get, …", CommandResponse),
    param(ThreadParam),
    body(Command, { exact: true }),
    async (c) => {
      const { thread_id } = c.req.valid("param");
      const by = {
        env: c.env,
        principal: c.get("principal"),
        threadId: thread_id,
        thread: openThread(c, thread_id),
        configurable: readConfigurable(c.req.raw.headers, c.get("principal")),
      };
      const { params, ...command } = c.req.valid("json");
      // The application's own clients use one agent and send no agent id.
      const unsaid = c.req.path.startsWith("/api/") ? { assistant_id: ANY_ASSISTANT } : {};
      const answer = await runCommand(by, { ...command, params: { ...unsaid, ...params } });
      if (answer.type === "error" && answer.error === "unknown_error") c.set("serverFault", true);
      return c.json(answer);
    },
  )
  .post(
    "/:thread_id/stream",
    doc("The thread's events: replay, then live (SSE)", EVENTS),
    param(ThreadParam),
    body(StreamFilter),
    (c) => events(c, c.req.valid("param").thread_id, c.req.valid("json")),
  )
  .post(
    "/:thread_id/stream/events",
    doc("The thread's events: replay, then live (SSE)", EVENTS),
    param(ThreadParam),
    body(StreamFilter),
    (c) => events(c, c.req.valid("param").thread_id, c.req.valid("json")),
  )
  .get("/:thread_id/stream", doc("The protocol over a WebSocket", { 101: {} }), param(ThreadParam), async (c, next) => {
    // Without an upgrade this path is the classic thread stream's, where there is one.
    if (!isUpgrade(c)) return next();
    return socket(c, c.req.valid("param").thread_id);
  })
  .get(
    "/:thread_id/stream/events",
    doc("The protocol over a WebSocket", { 101: {} }),
    param(ThreadParam),
    async (c) => {
      if (isUpgrade(c)) return socket(c, c.req.valid("param").thread_id);
      const headers = { upgrade: "websocket", connection: "upgrade" };
      throw new Problem(426, "GET opens a WebSocket here. For SSE, POST a filter such as {channels: [...]}.", {
        headers,
      });
    },
  );

const isUpgrade = (c: Context<App>): boolean => c.req.header("upgrade")?.toLowerCase() === "websocket";

/** Characters of JSON. A socket's attachment holds 16,384 bytes, its subscriptions included. */
const CALLER_LIMIT = 8_000;

/** The socket belongs to the thread's object: it stays open after this request ends. */
async function socket(c: Context<App>, threadId: string): Promise<Response> {
  const principal = c.get("principal");
  const presented = describeRequest(c.req.raw, principal);
  const dialect = readDialect(c.req.raw.headers);
  const caller = { principal, configurable: readConfigurable(c.req.raw.headers, principal), presented, dialect };
  if (JSON.stringify(caller).length > CALLER_LIMIT)
    throw new Problem(413, "The headers and the user of a WebSocket may have 8,000 characters together.");
  const headers = new Headers(c.req.raw.headers);
  headers.set(CALLER_HEADER, encodeURIComponent(JSON.stringify(caller satisfies SocketCaller)));
  return retry(() => threadObject(c.env, principal.workspaceId, threadId).fetch(new Request(c.req.raw, { headers })));
}

/**
 * Streams the events that match the filter. `Last-Event-ID`, `since_event_id` and `since` each set the start position.
 */
async function events(c: Context<App>, threadId: string, filter: StreamFilter): Promise<Response> {
  const after = await findStart(openThread(c, threadId), filter, c.req.header("last-event-id"));
  const dialect = readDialect(c.req.raw.headers);
  return sseBytes(await streamEvents(c.env, c.get("principal").workspaceId, threadId, filter, after, dialect));
}
