/** The chat route: which assistant, which thread, and a stream of its own for each. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { ApiError, call, callFor } from "../api/http.ts";
import { listedThread, useAssistants, useRuns, useThreads } from "../api/queries.ts";
import { threadRead } from "../api/requests.ts";
import { openState } from "../api/state.ts";
import type { Assistant, ThreadRow } from "../api/types.ts";
import type { ViewProps } from "../app/view-props.ts";
import { Button } from "../ui/Button.tsx";
import { chooseAssistant, useChosen, useOwnAssistant } from "./header/assistant.ts";
import { forgetConnection } from "./session/connection.ts";
import { Conversation } from "./Conversation.tsx";
import { LoadFailed, LoadingTurns, Notice } from "./Notice.tsx";
import { Bare, Header } from "./header/Header.tsx";
import { assistantForNew, hasAssistant } from "./header/pick.ts";
import { threadTitle } from "./thread-row.ts";

const NO_RUNS = { open: false, newest: undefined };

interface Mount {
  /** A new number is a new stream. */
  key: number;
  threadId: string | undefined;
  /** The message that it begins with. */
  first?: string;
}

export default function Chat({ id: threadId }: ViewProps) {
  const [, navigate] = useLocation();
  const [mount, setMount] = useState<Mount>({ key: 0, threadId });
  // The thread that this mount began itself: the address follows it, the stream stays.
  const began = useRef<string>(undefined);
  const remount = useCallback((to: string | undefined, first?: string) => {
    forgetConnection();
    began.current = undefined;
    setMount((now) => ({ key: now.key + 1, threadId: to, first }));
  }, []);
  if (threadId !== (began.current ?? mount.threadId)) remount(threadId);

  const assistants = useAssistants();
  const thread = useThreadRow(mount.threadId);
  const runs = useRuns(mount.threadId, -1 - mount.key);
  // The state is shown first: it is read beside what the stream needs, not after it.
  useEffect(() => {
    if (mount.threadId !== undefined) openState(mount.threadId);
  }, [mount]);
  const chosen = useChosen();
  const listed = useThreads(true)
    .data?.pages.flat()
    .find((one) => one.thread_id === threadId);
  // A thread gets an assistant with its first run, which may begin while it is open.
  const begun = mount.threadId === undefined ? undefined : [thread.data, listed].find(hasAssistant);
  const { own, ...finding } = useOwnAssistant(begun, assistants.data);
  const assistant = begun ? own : assistants.data && assistantForNew(assistants.data, chosen);
  // A thread that is started from this one is with the same assistant.
  const ownId = own?.assistant_id;
  useEffect(() => {
    if (ownId !== undefined) chooseAssistant(ownId);
  }, [ownId]);
  const [context, setContext] = useState<Record<string, unknown>>({});
  const [contextAssistant, setContextAssistant] = useState<string>();
  if (assistant && assistant.assistant_id !== contextAssistant) {
    setContextAssistant(assistant.assistant_id);
    setContext({});
  }
  const row = listed ?? thread.data;
  const title = threadId === undefined ? "New thread" : row ? threadTitle(row) : "";

  const begin = useCallback(
    (id: string) => {
      began.current = id;
      navigate(`/chat/${id}`, { replace: true });
    },
    [navigate],
  );

  const onAssistant = (next: Assistant, text?: string) => {
    chooseAssistant(next.assistant_id);
    if (threadId === undefined) remount(undefined, text);
    else navigate("/chat");
  };

  if (assistants.data?.length === 0)
    return (
      <Bare>
        <Notice title="No graph is deployed." text="Add one to src/deployment.ts, then deploy:">
          <pre>npm run deploy</pre>
        </Notice>
      </Bare>
    );
  const missing = thread.error instanceof ApiError && [404, 422].includes(thread.error.status);
  if (missing)
    return (
      <Bare>
        <Notice
          title="No thread with this id in this workspace."
          text="It may have been deleted. Choose another thread, or start a new one."
        >
          <div>
            <Button onClick={() => navigate("/chat")}>Start a new thread</Button>
          </div>
        </Notice>
      </Bare>
    );
  const failed = thread.error ? thread : finding.error ? finding : undefined;
  if (failed?.error)
    return (
      <Bare>
        <LoadFailed error={failed.error.message} onRetry={() => void failed.refetch()} />
      </Bare>
    );
  if (assistant === null)
    return (
      <Bare>
        <Notice
          title="The assistant of this thread does not exist."
          text="No assistant of its graph is deployed. Deploy the graph again to continue, or start a new thread."
        />
      </Bare>
    );
  if (!assistant || (mount.threadId !== undefined && (!thread.data || runs.isPending)))
    return (
      <Bare>
        <LoadingTurns />
      </Bare>
    );
  return (
    <Conversation
      // A stream belongs to one assistant. That of a new thread may be chosen while it is in view.
      key={[mount.key, mount.threadId, mount.threadId === undefined ? chosen : assistant.assistant_id].join(" ")}
      header={
        <Header
          threadId={threadId}
          title={title}
          assistant={assistant}
          assistants={assistants.data ?? []}
          context={context}
          onContext={setContext}
          onAssistant={onAssistant}
        />
      }
      assistant={assistant}
      assistants={assistants.data ?? []}
      context={context}
      threadId={mount.threadId}
      title={title}
      runs={runs.data ?? NO_RUNS}
      updatedAt={row?.updated_at}
      onThreadId={begin}
      onReconnect={() => remount(threadId)}
      onAssistant={onAssistant}
      first={mount.first}
    />
  );
}

function useThreadRow(threadId: string | undefined) {
  return useQuery({
    queryKey: ["thread", threadId],
    enabled: threadId !== undefined,
    queryFn: async ({ signal }) => {
      const [row] = await callFor<ThreadRow[]>(threadRead(threadId ?? "").request, signal);
      // The index is behind a thread that has just been made, or whose first run has just begun. The thread itself is not.
      if (row && hasAssistant(row)) return row;
      return call<ThreadRow>("GET", `/threads/${encodeURIComponent(threadId ?? "")}`, undefined, signal);
    },
    initialData: () => {
      const row = listedThread(threadId);
      return hasAssistant(row) ? row : undefined;
    },
    staleTime: 60_000,
  });
}
