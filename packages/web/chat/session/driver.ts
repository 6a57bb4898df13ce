/** The user's actions on the agent: send, stop, continue, edit, ask again. */
import { useEffect, useMemo, useRef } from "react";
import { cancelRuns, renameThread, queryClient } from "../../api/queries.ts";
import type { Stream } from "./stream.ts";
import { toBlock, buildContent, type Media, withText } from "../turn/media.ts";
import { useOnline } from "./clock.ts";
import { isLost, useConnection, isUnanswered, noteConnected, noteLost } from "./connection.ts";
import { adoptNew, dequeue, enqueue, NEW, type Queued, requeue, useQueue } from "../composer/queue.ts";
import type { TurnActions } from "../turn/Turn.tsx";
import type { ThreadView } from "./useThread.ts";
import { authFetch } from "../../api/http.ts";

const TITLE = 80;

interface Wiring {
  stream: Stream;
  /** The client of the stream is there. */
  connected: boolean;
  view: ThreadView;
  context: Record<string, unknown>;
  /** The thread does not exist before the first message. */
  fresh: boolean;
  toEnd: () => void;
  /** Moves the focus to the composer, because the focused element is removed. */
  toComposer: () => void;
  setEditing: (messageId: string | undefined) => void;
  open: (callId: string) => void;
}

interface Driver {
  actions: TurnActions;
  queue: Queued[];
  unqueue: (id: string) => void;
  send: (text: string, media?: Media[]) => void;
  stop: () => void;
  /** Continues from the thread's current state: after a stop, after a failure. */
  resume: () => void;
  /** The server took the run. */
  onCreated: () => void;
}

export function useDriver(wiring: Wiring): Driver {
  const now = useRef(wiring);
  useEffect(() => {
    now.current = wiring;
  });
  const { tell } = wiring.view;
  const title = useRef<string>(undefined);
  const threadId = wiring.stream.threadId ?? undefined;
  const queueKey = threadId ?? NEW;
  const queue = useQueue(queueKey);
  const online = useOnline();
  const { fresh } = wiring;
  useEffect(() => {
    if (fresh && threadId !== undefined) adoptNew(threadId);
  }, [fresh, threadId]);

  const drive = useMemo(() => {
    const submit = (
      input: { messages: unknown[] } | null,
      forkFrom?: string,
      context: Record<string, unknown> = now.current.context,
      again?: string,
      onUnanswered?: () => void,
    ) => {
      const { stream, view, toEnd } = now.current;
      tell({ type: "submit", base: forkFrom === undefined ? undefined : view.upTo(forkFrom), again });
      if (view.at !== undefined) view.goTo(undefined);
      toEnd();
      // A failure is shown under the message and in the status line.
      void stream
        .submit(input as never, {
          config: { configurable: context },
          multitaskStrategy: "enqueue",
          ...(forkFrom === undefined ? {} : { forkFrom }),
          onError: (error) => {
            if (isUnanswered(error)) onUnanswered?.();
          },
        })
        .catch(() => tell({ type: "refused" }));
    };
    // Its id is new also where its words are old: asked again, it is another message.
    const human = (content: unknown, id?: string) => ({ messages: [{ type: "human", content, id }] });
    const contentAt = (messageId: string) =>
      now.current.view.messages?.find(({ id }) => id === messageId)?.content ?? "";
    const findFork = (messageId: string) => now.current.view.checkpoints.get(messageId)?.from;
    const name = (text: string, media: Media[]) => {
      const { view, fresh } = now.current;
      if (fresh && !view.messages?.length)
        title.current = (text || (media[0]?.name ?? "")).replaceAll(/\s+/g, " ").slice(0, TITLE);
    };
    const send = (text: string, media: Media[] = []) => {
      const { stream, connected, view, context } = now.current;
      // The queue is kept over a reload, such as that of a page whose code a deploy has replaced.
      const waits = !navigator.onLine || isLost() || !connected || (stream.threadId && isOpen(now.current));
      const message = { text, media, context, at: view.at };
      if (waits) enqueue(stream.threadId ?? NEW, message);
      else deliver({ ...message, id: crypto.randomUUID() });
    };
    const deliver = (message: Queued) => {
      const { id, text, media, context, at } = message;
      name(text, media);
      submit(human(buildContent(text, media.map(toBlock)), id), at, context, id, () => {
        tell({ type: "unanswered-start" });
        requeue(now.current.stream.threadId ?? NEW, message);
        void awaitServer();
      });
    };
    const actions: TurnActions = {
      edit: (messageId) => now.current.setEditing(messageId),
      resend: (messageId, text) => {
        now.current.setEditing(undefined);
        now.current.toComposer();
        submit(human(withText(contentAt(messageId), text)), findFork(messageId));
      },
      retry: (messageId) => submit(human(contentAt(messageId)), findFork(messageId)),
      unsent: (id) => submit({ messages: [{ type: "human", content: contentAt(id), id }] }, undefined, undefined, id),
      goTo: (tip) => now.current.view.goTo(tip),
      rerun: (checkpoint) => submit(null, checkpoint),
      open: (callId) => now.current.open(callId),
    };
    const stop = () => {
      const { stream, connected } = now.current;
      tell({ type: "stop" });
      if (!stream.threadId) return;
      if (!connected) void stream.stop();
      // The open run is read from the server: after a reload the stream does not know it.
      void cancelRuns(stream.threadId)
        .catch(() => undefined)
        .then(() => now.current.stream.stop({ cancel: false }));
    };
    const onCreated = () => {
      const { threadId } = now.current.stream;
      if (title.current === undefined || !threadId) return;
      void renameThread(threadId, title.current).catch(() => undefined);
      title.current = undefined;
    };
    return { actions, send, deliver, stop, onCreated, resume: () => submit(null) };
  }, [tell]);

  const { connected } = wiring;
  const { thread, interrupts } = wiring.view;
  const settled = (threadId === undefined || thread.read !== undefined) && interrupts.length === 0 && !isOpen(wiring);
  const { lostAt } = useConnection();
  const next = online && lostAt === undefined && connected && settled ? queue[0]?.id : undefined;
  useEffect(() => {
    const message = dequeue(queueKey, next);
    const isThere = now.current.view.messages?.some(({ id }) => id === message?.id);
    if (message && !isThere) drive.deliver(message);
  }, [queueKey, next, drive]);

  return {
    ...drive,
    queue,
    unqueue: (id) => void dequeue(queueKey, id),
  };
}

/** A run is open, or the state after it is not read yet. */
const isOpen = ({ stream, view }: Pick<Wiring, "stream" | "view">) => view.thread.run !== undefined || stream.isLoading;

/** Milliseconds until the server is asked again: doubled after each attempt, as by the stream's client. */
const FIRST_MS = 1_000;
const LAST_MS = 6_000;

let asking: Promise<void> | undefined;

/** Asks the server until it answers, and then reads again what was not answered. */
const awaitServer = (): Promise<void> => (asking ??= ask().finally(() => (asking = undefined)));

async function ask(): Promise<void> {
  if (isLost()) return;
  for (let attempt = 1; ; attempt++) {
    const delayMs = Math.min(FIRST_MS * 2 ** (attempt - 1), LAST_MS);
    noteLost({ attempt, delayMs });
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    // The stream was first.
    if (!isLost()) break;
    const isBack = await authFetch("/ok").then(
      ({ ok }) => ok,
      () => false,
    );
    if (isBack) break;
  }
  noteConnected();
  await queryClient.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" });
}
