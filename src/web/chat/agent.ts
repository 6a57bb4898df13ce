/** The stream of one thread, with what the page needs to know about its connection. */
import { type AnyStream, useStream } from "@langchain/react";
import { useEffect, useState } from "react";
import { SERVER } from "../api/server.ts";
import type { RawMessage } from "../api/types.ts";
import { noteConnected, noteLost } from "./connection.ts";
import { Connections } from "./connections.ts";
import { type NewestRun, streamFetch } from "./stream-fetch.ts";
import type { LiveCall } from "./turns.ts";

export type Stream = AnyStream;

/** The client does not give up while the page is open: the next attempt is at most 6 s away. */
const ATTEMPTS = 100_000;

export function useAgent(options: {
  assistantId: string;
  threadId: string | undefined;
  /** The newest run of the thread when it was opened. */
  newest: NewestRun;
  onThreadId: (threadId: string) => void;
  onCreated: () => void;
}): Stream {
  // Another object would make another client, and with it another stream.
  const [{ connections, caller }] = useState(() => {
    const connections = new Connections();
    return { connections, caller: { fetch: streamFetch(options.newest, connections), maxRetries: 2 } };
  });
  useEffect(() => connections.watch(), [connections]);
  const stream = useStream({
    assistantId: options.assistantId,
    apiUrl: SERVER,
    threadId: options.threadId ?? null,
    onThreadId: options.onThreadId,
    onCreated: options.onCreated,
    fetch: caller.fetch,
    callerOptions: caller,
    maxReconnectAttempts: ATTEMPTS,
    onReconnect: noteLost,
    onConnected: noteConnected,
  });
  useEffect(() => connections.setRunning(stream.isLoading), [connections, stream.isLoading]);
  return stream;
}

/** The stream's messages as plain data: class instances have the same fields as their JSON. */
export const liveMessages = (stream: Stream) => stream.messages as unknown as RawMessage[];

export function liveCallsOf(calls: Stream["toolCalls"]): Map<string, LiveCall> {
  return new Map(calls.map((call) => [call.callId, { status: call.status, output: call.output, error: call.error }]));
}
