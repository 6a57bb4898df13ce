/** Everything the reader can make the agent do: send, stop, go on, edit, ask again. */
import { useSubmissionQueue } from "@langchain/react";
import { useEffect, useMemo, useRef } from "react";
import { cancelRuns, renameThread } from "../api/queries.ts";
import type { Stream } from "./agent.ts";
import type { Branch } from "./branch.ts";
import type { Queued } from "./Composer.tsx";
import { textOf } from "./messages.ts";
import type { TurnActions } from "./Turn.tsx";

const TITLE = 80;

interface Wiring {
  stream: Stream;
  branch: Branch;
  context: Record<string, unknown>;
  seconds: number;
  /** The thread does not exist before the first message. */
  fresh: boolean;
  toEnd: () => void;
  /** Seconds after which the reader stopped the last run. */
  setStopped: (seconds: number | undefined) => void;
  setEditing: (messageId: string | undefined) => void;
  open: (callId: string) => void;
}

export interface Driver {
  actions: TurnActions;
  queue: Queued[];
  unqueue: (id: string) => void;
  send: (text: string) => void;
  stop: () => void;
  /** Goes on from where the thread stands: after a stop, after a failure. */
  resume: () => void;
  /** The server took the run. */
  onCreated: () => void;
}

export function useDriver(wiring: Wiring): Driver {
  const now = useRef(wiring);
  useEffect(() => {
    now.current = wiring;
  });
  const { setStopped } = wiring;
  const title = useRef<string>(undefined);
  const queue = useSubmissionQueue(wiring.stream);

  const drive = useMemo(() => {
    const submit = (input: { messages: unknown[] } | null, forkFrom?: string) => {
      const { stream, context, branch, toEnd } = now.current;
      setStopped(undefined);
      branch.leave(forkFrom);
      if (branch.at !== undefined) branch.goTo(undefined);
      toEnd();
      // Trouble shows where it belongs: under the message, and in the strip.
      void stream
        .submit(input as never, {
          config: { configurable: context },
          multitaskStrategy: "enqueue",
          ...(forkFrom === undefined ? {} : { forkFrom }),
        })
        .catch(() => undefined);
    };
    // Its id is new also where its words are old: asked again, it is another message.
    const human = (text: string) => ({ messages: [{ type: "human", content: text }] });
    const send = (text: string) => {
      const { branch, fresh } = now.current;
      if (fresh && branch.messages.length === 0) title.current = text.replaceAll(/\s+/g, " ").slice(0, TITLE);
      submit(human(text), branch.at);
    };
    const actions: TurnActions = {
      edit: (messageId) => now.current.setEditing(messageId),
      resend: (messageId, text) => {
        now.current.setEditing(undefined);
        submit(human(text), now.current.branch.before(messageId));
      },
      retry: (messageId, text) => submit(human(text), now.current.branch.before(messageId)),
      unsent: (messageId, text) => submit({ messages: [{ type: "human", content: text, id: messageId }] }),
      goTo: (tip) => now.current.branch.goTo(tip),
      rerun: (checkpoint) => submit(null, checkpoint),
      open: (callId) => now.current.open(callId),
    };
    const stop = () => {
      const { stream, seconds } = now.current;
      setStopped(seconds);
      if (!stream.threadId) return;
      // What runs is asked of the server: after a reload the stream does not know it.
      void cancelRuns(stream.threadId)
        .catch(() => undefined)
        .then(() => stream.stop({ cancel: false }));
    };
    const onCreated = () => {
      const { threadId } = now.current.stream;
      if (title.current === undefined || !threadId) return;
      void renameThread(threadId, title.current).catch(() => undefined);
      title.current = undefined;
    };
    return { actions, send, stop, onCreated, resume: () => submit(null) };
  }, [setStopped]);

  return {
    ...drive,
    queue: queue.entries.map((entry) => ({ id: entry.id, text: queuedText(entry.values) })),
    unqueue: (id) => void queue.cancel(id),
  };
}

function queuedText(values: unknown): string {
  const messages = (values as { messages?: { content: unknown }[] } | undefined)?.messages ?? [];
  return messages.map((message) => textOf(message)).join("\n");
}
