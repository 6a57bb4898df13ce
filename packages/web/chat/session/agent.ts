/**
 * The stream of one thread. Its client is the larger part of the chat's code, and what is shown first does not need it: it is
 * loaded once the messages are there. Until it has read the thread the stream is idle, and what is sent waits for the client.
 */
import { useCallback, useEffect, useState } from "react";
import type * as ClientModule from "./StreamClient.tsx";
import type { AgentOptions, Connected, Stream } from "./stream.ts";

interface Agent {
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

/** The stream of a thread. Its client is there once it was wanted and has loaded; the caller renders it. */
export function useAgent(options: AgentOptions): Agent {
  const [wanted, setWanted] = useState(false);
  const [connected, setConnected] = useState<Connected>();
  const connect = useCallback(() => setWanted(true), []);
  const [{ idle, arrive }] = useState(() => idleStream(options.threadId, connect));
  const onStream = useCallback(
    (stream: Connected) => {
      arrive(stream);
      setConnected(stream);
    },
    [arrive],
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

/** A stream that has seen nothing. What is sent waits until the client arrives; a stop ends what waits. */
function idleStream(threadId: string | undefined, connect: () => void) {
  let arrival = Promise.withResolvers<Connected>();
  const client = () => {
    connect();
    return arrival.promise;
  };
  const idle: Stream = {
    messages: [],
    toolCalls: [],
    subagents: new Map(),
    isLoading: false,
    error: undefined,
    threadId: threadId ?? null,
    submit: async (...args) => (await client()).submit(...args),
    respond: async (...args) => (await client()).respond(...args),
    respondAll: async (...args) => (await client()).respondAll(...args),
    stop: async () => {
      const { promise, reject } = arrival;
      promise.catch(() => undefined);
      arrival = Promise.withResolvers();
      reject(new Error("Stopped before it was sent."));
    },
  };
  return { idle, arrive: (stream: Connected) => arrival.resolve(stream) };
}
