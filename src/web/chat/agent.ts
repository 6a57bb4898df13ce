/**
 * The stream of one thread. Its client is the larger part of the chat's code, and what is shown first does not need it: it is
 * loaded once the messages are there. Until then the stream is idle, and what is sent waits for the client.
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
