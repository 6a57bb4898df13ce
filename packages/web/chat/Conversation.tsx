/** One thread: its stream, its log, its decisions, and the composer under them. */
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useMay } from "../api/me.ts";
import type { Assistant } from "../api/types.ts";
import { useTitle } from "../app/view-props.ts";
import { coarse } from "../ui/device.ts";
import { useKeys } from "../ui/keys.ts";
import { useLoaded } from "../ui/on-demand.ts";
import { useAgent } from "./session/agent.ts";
import { Announcer, Strip, useSpoken } from "./composer/Strip.tsx";
import { loadMarkdown } from "./turn/MessageText.tsx";
import { acceptedBy } from "./composer/attach.ts";
import { Composer } from "./composer/Composer.tsx";
import { useConnection, errorText, isUnanswered } from "./session/connection.ts";
import css from "./Conversation.module.css";
import { decisionsIn } from "./turn/decisions.ts";
import { Decisions, loadDecision, NEXT_DECISION, useDecided } from "./turn/Decisions.tsx";
import { LoadFailed, LoadingTurns } from "./Notice.tsx";
import { useFollow } from "./turn/follow.ts";
import { Log } from "./turn/Log.tsx";
import { stripLine } from "./composer/status.ts";
import { collectLiveCalls } from "./session/stream.ts";
import { useClock, useOnline, useRunClock } from "./session/clock.ts";
import { useDriver } from "./session/driver.ts";
import { useThread } from "./session/useThread.ts";
import { useTurns } from "./turn/turns.ts";

// The first content, the messages and the composer, needs none of these.
const loadPanel = async () => (await import("./turn/Panel.tsx")).Panel;
const loadWelcome = async () => ({ default: (await import("./welcome/Welcome.tsx")).Welcome });
const Welcome = lazy(loadWelcome);

const NO_MESSAGES: never[] = [];

export function Conversation({
  header,
  assistant,
  assistants,
  context,
  threadId,
  title,
  runs,
  updatedAt,
  onThreadId,
  onReconnect,
  onAssistant,
  first,
}: {
  header: ReactNode;
  assistant: Assistant;
  assistants: Assistant[];
  context: Record<string, unknown>;
  /** Undefined for a conversation not yet begun. */
  threadId: string | undefined;
  /** The title of the thread. */
  title: string;
  /** The runs of the thread, when it was opened. */
  runs: { open: boolean; newest: string | undefined };
  /** When the thread last changed, as the list of threads has it. */
  updatedAt: string | undefined;
  onThreadId: (threadId: string) => void;
  onReconnect: () => void;
  /** With `text`, that is the first message to it. */
  onAssistant: (assistant: Assistant, text?: string) => void;
  /** Sent as soon as the conversation is there. */
  first: string | undefined;
}) {
  const mayRun = useMay()("runs.create");
  const created = useRef<() => void>(undefined);
  const { stream, connected, client, connect } = useAgent({
    assistantId: assistant.assistant_id,
    threadId,
    newest: { id: runs.newest, open: runs.open },
    onThreadId,
    onCreated: () => created.current?.(),
  });
  const view = useThread(stream, threadId, runs, updatedAt, onReconnect);
  const { running, at, thread, tell } = view;
  // The stream and the renderer of Markdown are larger than the rest of the code: what is shown first does not wait for them.
  const isShown = threadId === undefined || view.isRead;
  const fresh = threadId === undefined;
  useEffect(() => {
    if (!isShown) return;
    const load = () => {
      connect();
      void loadMarkdown();
      void loadDecision().catch(() => undefined);
    };
    // The welcome is in view, and small.
    if (fresh) void loadWelcome().then(load, load);
    else load();
  }, [isShown, fresh, connect]);
  const live = useMemo(() => collectLiveCalls(stream.toolCalls), [stream.toolCalls]);
  const messages = view.messages ?? NO_MESSAGES;
  const decided = useDecided(threadId ?? stream.threadId ?? undefined, thread, messages);
  const turns = useTurns(messages, live, running && at === undefined, decided);
  const [editing, setEditing] = useState<string>();
  const [opened, setOpened] = useState<string>();
  const { Loaded: Panel } = useLoaded(loadPanel, opened !== undefined, () => setOpened(undefined));
  const opener = useRef<HTMLElement | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const page = useRef<HTMLElement>(null);
  const follow = useFollow();
  const clock = useRunClock(running);
  // The composer opens with the next render. On touch the focus would bring up the keyboard.
  const toComposer = () => setTimeout(() => !coarse && box.current?.focus());
  const act = useDriver({
    stream,
    connected: connected !== undefined,
    view,
    context,
    fresh,
    toEnd: follow.toEnd,
    toComposer,
    setEditing,
    open: (id) => {
      opener.current = document.activeElement as HTMLElement | null;
      setOpened((now) => (now === id ? undefined : id));
    },
  });
  created.current = act.onCreated;

  const waiting = at === undefined ? view.interrupts.reduce((sum, one) => sum + decisionsIn(one.value), 0) : 0;
  const busy = running || waiting > 0;
  const asked = turns.findLast((turn) => turn.asked)?.asked;
  const [refused, setRefused] = useState<{ why: string; asked: string | undefined }>();
  // A message without a response waits in the queue.
  const streamError = stream.error && !isUnanswered(stream.error) ? errorText(stream.error) : undefined;
  // An answer that came second is no failure of the run, which has the first one.
  const failure = view.failed ?? (streamError === refused?.why ? undefined : streamError);
  const error = running || waiting > 0 ? undefined : failure;
  const loadFailed = stream.error !== undefined && turns.length === 0 && threadId !== undefined && !running;
  const lastCalls = turns.at(-1)?.parts.flatMap((part) => ("calls" in part ? part.calls : [])) ?? [];
  const online = useOnline();
  const connection = useConnection();
  const line = stripLine({
    online,
    connection,
    running,
    seconds: clock,
    tools: lastCalls.length,
    at: lastCalls.findLast((call) => call.state === "running")?.name,
    waiting,
    error: at === undefined && !loadFailed ? error : undefined,
    unfinished: view.unfinished,
    branch: view.branch,
    now: useClock(running || connection.lostAt !== undefined || connection.backAt !== undefined),
  });
  const spoken = useSpoken({ running, waiting, line, turns });
  const toDecision = () => {
    const card = page.current?.querySelector<HTMLElement>(NEXT_DECISION);
    card?.scrollIntoView({ block: "end" });
    card?.focus();
  };
  const closePanel = () => {
    setOpened(undefined);
    opener.current?.focus();
  };
  useKeys({
    stop: () => running && mayRun && act.stop(),
    composer: () => box.current?.focus(),
    decision: toDecision,
    turns: () => [...(page.current?.querySelectorAll<HTMLElement>("[data-turn]") ?? [])],
  });
  // The title is empty until the thread is read.
  const named = title || "Thread";
  useTitle(waiting > 0 ? `(${waiting}) ${named}` : named);
  const sent = useRef(first);
  useEffect(() => {
    if (sent.current !== undefined) act.send(sent.current);
    sent.current = undefined;
  }, [act]);

  const openedCall = turns
    .flatMap((turn) => turn.parts)
    .flatMap((part) => (part.kind === "subagents" ? part.calls : []))
    .find((call) => call.id === opened);
  const loading = threadId !== undefined && view.messages === undefined && !loadFailed;
  const empty = turns.length === 0 && !loading && !loadFailed && !running;

  return (
    <div className={css.split}>
      <main className={css.main} ref={page}>
        {header}
        {loading && <LoadingTurns />}
        {loadFailed && <LoadFailed error={errorText(stream.error)} onRetry={onReconnect} />}
        {empty && (
          <Suspense fallback={<div className={css.room} />}>
            <Welcome
              assistant={assistant}
              assistants={threadId === undefined ? assistants : [assistant]}
              onExample={(text, by) => (by === assistant ? act.send(text) : onAssistant(by, text))}
              onAssistant={onAssistant}
            />
          </Suspense>
        )}
        {!loading && !loadFailed && !empty && (
          <Log
            follow={follow}
            turns={turns}
            connected={connected}
            running={running && at === undefined}
            busy={busy}
            editing={editing}
            forks={view.forks}
            checkpoints={view.checkpoints}
            subagents={stream.subagents}
            opened={opened}
            actions={act.actions}
            failed={at === undefined ? error : undefined}
          >
            {at === undefined && mayRun && (
              <Decisions
                stream={stream}
                waiting={view.interrupts}
                after={messages.at(-1)?.id}
                context={context}
                refused={refused?.asked === asked?.id ? refused?.why : undefined}
                tell={tell}
                onRefused={(why) => setRefused(why === undefined ? undefined : { why, asked: asked?.id })}
                onSent={toComposer}
              />
            )}
          </Log>
        )}
        <div className={css.foot}>
          <div className={css.inner}>
            <Strip
              line={line}
              mayRun={mayRun}
              onAction={(action) => {
                if (action === "show") toDecision();
                else if (action === "reconnect") onReconnect();
                else if (action === "leave-branch") view.goTo(undefined);
                else if (action === "copy") void navigator.clipboard.writeText(error ?? "").catch(() => undefined);
                else act.resume();
              }}
            />
            <Composer
              box={box}
              threadId={threadId}
              running={running}
              waitsFor={waitsFor(online, connection.lostAt !== undefined, connected !== undefined)}
              closed={!mayRun ? "Your role starts no runs" : waiting > 0 ? "Answer above to continue" : undefined}
              hint={running ? "Write the next message" : `Message ${assistant.name}`}
              accepts={acceptedBy(assistant)}
              queued={act.queue}
              onUnqueue={act.unqueue}
              onSend={act.send}
              onStop={mayRun ? act.stop : undefined}
              recall={asked?.text}
            />
          </div>
        </div>
        <Announcer
          text={spoken}
          alarm={line.tone === "failed" ? `The run failed. ${error?.split("\n")[0] ?? ""}` : ""}
        />
      </main>
      {openedCall && Panel && (
        <Panel stream={connected} call={openedCall} agent={stream.subagents.get(openedCall.id)} onClose={closePanel} />
      )}
      {client && <client.Component {...client.props} open={view.open} />}
    </div>
  );
}

/** The reason why a message in the queue waits. */
function waitsFor(online: boolean, lost: boolean, connected: boolean): string {
  if (!online) return "you are online";
  if (lost) return "the server answers";
  return connected ? "the run ends" : "the chat has loaded";
}
