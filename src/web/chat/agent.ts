/** The stream of one thread, with what the page needs to know about its connection. */
import { type AnyStream, useStream } from "@langchain/react";
import { authFetch } from "../api/http.ts";
import { SERVER } from "../api/server.ts";
import type { Interrupt, RawMessage } from "../api/types.ts";
import { noteConnected, noteLost } from "./connection.ts";
import type { LiveCall } from "./turns.ts";

export type Stream = AnyStream;

// A refused command is not sent again by itself: that is the reader's to say.
const CALLER = { fetch: authFetch, maxRetries: 2 };

/** Never gives up: while the reader looks at the page, the next try is at most 6 s away. */
const ATTEMPTS = 100_000;

export function useAgent(options: {
  assistantId: string;
  threadId: string | undefined;
  onThreadId: (threadId: string) => void;
  onCreated: () => void;
}): Stream {
  return useStream({
    assistantId: options.assistantId,
    apiUrl: SERVER,
    threadId: options.threadId ?? null,
    onThreadId: options.onThreadId,
    onCreated: options.onCreated,
    fetch: authFetch,
    callerOptions: CALLER,
    maxReconnectAttempts: ATTEMPTS,
    onReconnect: noteLost,
    onConnected: noteConnected,
  });
}

/** The stream's messages as plain reading: class instances have the same fields as their JSON. */
export const messagesOf = (stream: Stream) => stream.messages as unknown as RawMessage[];

export const interruptsOf = (stream: Stream): Interrupt[] =>
  stream.interrupts.flatMap((one) => (one.id ? [{ id: one.id, value: one.value as unknown }] : []));

export function liveCallsOf(calls: Stream["toolCalls"]): Map<string, LiveCall> {
  return new Map(calls.map((call) => [call.callId, { status: call.status, output: call.output, error: call.error }]));
}
