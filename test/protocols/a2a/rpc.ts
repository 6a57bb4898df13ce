/** A2A calls as any client makes them, in workerd. */
import type { Caller } from "../../support/caller.ts";
import { sseEvents } from "../../support/sse.ts";
import { checkFailure, checkResult } from "./shapes.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
export type Any = any;
export type Json = Record<string, Any>;

export interface Reply {
  jsonrpc: string;
  id: unknown;
  result?: Any;
  error?: { code: number; message: string; data?: Any };
}

let lastId = 0;

export interface RpcOptions {
  agent?: string;
  headers?: Record<string, string>;
  metadata?: Json;
}

export async function sendRaw(
  caller: Caller,
  body: unknown,
  options: RpcOptions & { path?: string } = {},
): Promise<Response> {
  return caller.fetch(options.path ?? `/a2a/${options.agent ?? "actor"}`, { body, headers: options.headers });
}

export async function rpc(caller: Caller, method: string, params?: unknown, options: RpcOptions = {}): Promise<Reply> {
  const body = { jsonrpc: "2.0", id: (lastId += 1), method, params, metadata: options.metadata };
  const response = await sendRaw(caller, body, options);
  // A streaming method of 0.3 answers with an event, also when it refuses.
  const text = (await response.text()).replace(/^data: /, "");
  const reply = JSON.parse(text) as Reply;
  // Every answer of every test is held against the published shapes.
  if (reply.error === undefined) checkResult(method, reply.result);
  else if (/^[A-Z]/.test(method)) checkFailure(reply);
  return reply;
}

export async function result(caller: Caller, method: string, params?: unknown, options: RpcOptions = {}): Promise<Any> {
  const reply = await rpc(caller, method, params, options);
  if (reply.error) throw new Error(JSON.stringify(reply.error));
  return reply.result;
}

export async function events(
  caller: Caller,
  method: string,
  params: unknown,
  options: RpcOptions = {},
): Promise<Any[]> {
  const all: Any[] = [];
  for await (const one of stream(caller, method, params, options)) all.push(one);
  return all;
}

export async function* stream(caller: Caller, method: string, params: unknown, options: RpcOptions = {}) {
  const response = await sendRaw(
    caller,
    { jsonrpc: "2.0", id: "s", method, params, metadata: options.metadata },
    options,
  );
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) throw new Error(await response.text());
  for await (const { data } of sseEvents(response)) {
    const reply = data as Reply;
    if (reply.error || reply.id !== "s") throw new Error(JSON.stringify(reply));
    checkResult(method, reply.result);
    yield reply.result;
  }
}

/** A message of one text in 1.0's words, and in 0.3's. */
export const message1 = (text: string, more: Json = {}): Json => ({
  messageId: crypto.randomUUID(),
  role: "ROLE_USER",
  parts: [{ text }],
  ...more,
});
export const message03 = (text: string, more: Json = {}): Json => ({
  kind: "message",
  messageId: crypto.randomUUID(),
  role: "user",
  parts: [{ kind: "text", text }],
  ...more,
});
