/** The client of a thread's stream, and what is read from it. A chunk of its own, which `useAgent` loads. */
import { useMessageMetadata, useStream } from "@langchain/react";
import { useEffect, useLayoutEffect, useState } from "react";
import { SERVER } from "../../api/server.ts";
import { LinkButton } from "../../ui/Button.tsx";
import type { AgentOptions, Connected } from "./stream.ts";
import { noteConnected, noteLost } from "./connection.ts";
import { Connections, streamFetch } from "./transport.ts";

/** The client does not give up while the page is open: the next attempt is at most 6 s away. */
const ATTEMPTS = 100_000;

/** Keeps the client while it is mounted, and passes on the stream each time that it changes. Shows nothing. */
export default function StreamClient({
  onStream,
  open,
  ...options
}: AgentOptions & {
  onStream: (stream: Connected) => void;
  /** A run of the thread is open, as far as the page knows. */
  open: boolean;
}) {
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
  // Before the next frame: what is shown of the stream is not one frame behind it. A client that has not read the thread refuses answers.
  useLayoutEffect(() => {
    if (!stream.isThreadLoading) onStream(stream);
  }, [onStream, stream]);
  const running = open || stream.isLoading;
  useEffect(() => connections.setRunning(running), [connections, running]);
  return null;
}

/** Says that a question did not reach the server, and sends it again. */
export function NotSent({
  stream,
  id,
  className,
  onRetry,
}: {
  stream: Connected;
  id: string;
  className: string | undefined;
  onRetry: () => void;
}) {
  const metadata = useMessageMetadata(stream, id);
  if (metadata?.optimisticStatus !== "failed") return null;
  return (
    <span className={className}>
      Not sent. <LinkButton onClick={onRetry}>Retry</LinkButton>
    </span>
  );
}
