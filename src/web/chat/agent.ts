/**
 * The stream of one thread. Its client is the larger part of the chat's code, and what is shown first does not need it: it is
 * loaded once the messages are there. Until then the stream is idle, and what is sent waits for the client.
 */
import type { AnyStream } from "@langchain/react";
import { useCallback, useEffect, useState } from "react";
import type { RawMessage } from "../api/types.ts";
import type * as ClientModule from "./StreamClient.tsx";
import type { NewestRun } from "./stream-fetch.ts";
import type { LiveCall } from "./turns.ts";

/** What the page uses of the stream, with its client or without. */
export type Stream = Pick<
  AnyStream,
  | "messages"
  | "toolCalls"
  | "subagents"
  | "isLoading"
  | "error"
  | "threadId"
  | "submit"
  | "respond"
  | "respondAll"
  | "stop"
>;

/** The stream with its client. Parts of the stream are read from it. */
export type Connected = AnyStream;

export interface AgentOptions {
  assistantId: string;
  threadId: string | undefined;
  /** The newest run of the thread when it was opened. */
  newest: NewestRun;
  onThreadId: (threadId: string) => void;
  onCreated: () => void;
}

export interface Agent {
  stream: Stream;
  /** Undefined until the client is there. */
  connected: Connected | undefined;
  /** The client, which the page renders. */
  client:
    | { Component: typeof ClientModule.default; props: AgentOptions & { onStream: (stream: Connected) => void } }
    | undefined;
  /** Loads the client. */
  connect: () => void;
}

/** Milliseconds until the client is requested again, when it did not load. */
const AGAIN = 3_000;

let loaded: typeof ClientModule | undefined;

export function useAgent(options: AgentOptions): Agent {
  const [wanted, setWanted] = useState(false);
  const [connected, setConnected] = useState<Connected>();
  const connect = useCallback(() => setWanted(true), []);
  const [waiting] = useState(() => Promise.withResolvers<Connected>());
  const onStream = useCallback(
    (stream: Connected) => {
      waiting.resolve(stream);
      setConnected(stream);
    },
    [waiting],
  );
  const [idle] = useState(() =>
    idleStream(options.threadId, () => {
      connect();
      return waiting.promise;
    }),
  );
  const module = useClient(wanted);
  return {
    stream: connected ?? idle,
    connected,
    client: module && { Component: module.default, props: { ...options, onStream } },
    connect,
  };
}

/** The code of the client, once it is wanted and there. */
function useClient(wanted: boolean): typeof ClientModule | undefined {
  const [module, setModule] = useState(loaded);
  useEffect(() => {
    if (!wanted || module) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let left = false;
    const load = () => {
      import("./StreamClient.tsx").then(
        (found) => {
          loaded = found;
          if (!left) setModule(found);
        },
        () => {
          if (!left) timer = setTimeout(load, AGAIN);
        },
      );
    };
    load();
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [wanted, module]);
  return module;
}

/** A stream that has seen nothing. What is sent waits for its client. */
function idleStream(threadId: string | undefined, client: () => Promise<Connected>): Stream {
  return {
    messages: [],
    toolCalls: [],
    subagents: new Map(),
    isLoading: false,
    error: undefined,
    threadId: threadId ?? null,
    submit: async (...args) => (await client()).submit(...args),
    respond: async (...args) => (await client()).respond(...args),
    respondAll: async (...args) => (await client()).respondAll(...args),
    stop: async (...args) => (await client()).stop(...args),
  };
}

/** The stream's messages as plain data: class instances have the same fields as their JSON. */
export const liveMessages = (stream: Stream) => stream.messages as unknown as RawMessage[];

export function liveCallsOf(calls: Stream["toolCalls"]): Map<string, LiveCall> {
  return new Map(calls.map((call) => [call.callId, { status: call.status, output: call.output, error: call.error }]));
}
