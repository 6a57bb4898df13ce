/** One thread: its stream, its log, its decisions, and the composer under them. */
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { Assistant } from "../api/types.ts";
import { useKeys } from "../frame/keys.ts";
import { liveCallsOf, useAgent } from "./agent.ts";
import { Announcer } from "./Announcer.tsx";
import { useBranch } from "./branch.ts";
import { Composer } from "./Composer.tsx";
import { useConnection } from "./connection.ts";
import css from "./Conversation.module.css";
import { decisionsIn } from "./decisions.ts";
import { Decisions, NEXT_DECISION } from "./Decisions.tsx";
import { Empty, LoadFailed, LoadingTurns } from "./Empty.tsx";
import { useFollow } from "./follow.ts";
import { Log } from "./Log.tsx";
import { Panel } from "./Panel.tsx";
import { errorText, usePending } from "./pending.ts";
import { stripLine } from "./status.ts";
import { RunFailed } from "./RunFailed.tsx";
import { Strip } from "./Strip.tsx";
import { useClock, useOnline, useRunClock } from "./clock.ts";
import { useDriver } from "./driver.ts";
import { useTurns } from "./useTurns.ts";
import { useSpoken } from "./spoken.ts";

const NO_MESSAGES: never[] = [];

export function Conversation({
  header,
  assistant,
  assistants,
  context,
  threadId,
  onThreadId,
  onReconnect,
  onRunning,
  onAssistant,
}: {
  header: ReactNode;
  assistant: Assistant;
  assistants: Assistant[];
  context: Record<string, unknown>;
  /** Undefined for a conversation not yet begun. */
  threadId: string | undefined;
  onThreadId: (threadId: string) => void;
  onReconnect: () => void;
  onRunning: (running: boolean) => void;
  onAssistant: (assistant: Assistant) => void;
}) {
  const created = useRef<() => void>(undefined);
  const stream = useAgent({
    assistantId: assistant.assistant_id,
    threadId,
    onThreadId,
    onCreated: () => created.current?.(),
  });
  const running = stream.isLoading;
  useEffect(() => onRunning(running), [running, onRunning]);
  const pending = usePending(stream, running);
  const [stopped, setStopped] = useState<number>();
  const branch = useBranch(stream, running, stopped !== undefined);
  const live = useMemo(() => liveCallsOf(stream.toolCalls), [stream.toolCalls]);
  const messages = stream.isThreadLoading ? NO_MESSAGES : branch.messages;
  const turns = useTurns(messages, live, running && branch.at === undefined);
  const [editing, setEditing] = useState<string>();
  const [opened, setOpened] = useState<string>();
  const opener = useRef<HTMLElement | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const page = useRef<HTMLElement>(null);
  const follow = useFollow();
  const clock = useRunClock(running);
  const act = useDriver({
    stream,
    branch,
    context,
    seconds: clock,
    fresh: threadId === undefined,
    toEnd: follow.toEnd,
    setStopped,
    setEditing,
    open: (id) => {
      opener.current = document.activeElement as HTMLElement | null;
      setOpened((now) => (now === id ? undefined : id));
    },
  });
  created.current = act.onCreated;

  const waiting =
    branch.at === undefined ? pending.interrupts.reduce((sum, one) => sum + decisionsIn(one.value), 0) : 0;
  const busy = running || waiting > 0;
  const error = running ? undefined : stream.error ? errorText(stream.error) : pending.failed;
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
    error: branch.at === undefined ? error : undefined,
    stopped,
    branch: branch.place,
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
    stop: () => running && act.stop(),
    composer: () => box.current?.focus(),
    decision: toDecision,
    turns: () => [...(page.current?.querySelectorAll<HTMLElement>("[data-turn]") ?? [])],
  });
  useTitle(waiting);

  const openedCall = turns
    .flatMap((turn) => turn.parts)
    .flatMap((part) => (part.kind === "subagents" ? part.calls : []))
    .find((call) => call.id === opened);
  const loadFailed = stream.error !== undefined && turns.length === 0 && threadId !== undefined && !running;
  const empty = turns.length === 0 && !stream.isThreadLoading && !loadFailed && !running;

  return (
    <div className={css.split}>
      <main className={css.main} ref={page}>
        {header}
        {stream.isThreadLoading && <LoadingTurns />}
        {loadFailed && <LoadFailed error={errorText(stream.error)} onRetry={onReconnect} />}
        {empty && (
          <Empty
            assistant={assistant}
            others={threadId === undefined ? assistants.filter((one) => one !== assistant) : []}
            known={threadId !== undefined}
            onExample={act.send}
            onAssistant={onAssistant}
          />
        )}
        {!stream.isThreadLoading && !loadFailed && !empty && (
          <Log
            follow={follow}
            turns={turns}
            stream={stream}
            running={running && branch.at === undefined}
            busy={busy}
            editing={editing}
            forks={branch.forks}
            checkpoints={branch.checkpoints}
            subagents={stream.subagents}
            opened={opened}
            actions={act.actions}
          >
            {branch.at === undefined && error !== undefined && <RunFailed error={error} />}
            {branch.at === undefined && <Decisions stream={stream} pending={pending} context={context} />}
          </Log>
        )}
        <div className={css.foot}>
          <div className={css.inner}>
            <Strip
              line={line}
              onAction={(action) => {
                if (action === "stop") act.stop();
                else if (action === "show") toDecision();
                else if (action === "reconnect") onReconnect();
                else if (action === "leave-branch") branch.goTo(undefined);
                else if (action === "copy") void navigator.clipboard.writeText(error ?? "").catch(() => undefined);
                else act.resume();
              }}
            />
            <Composer
              box={box}
              threadId={threadId}
              running={running}
              closed={waiting > 0 ? "Decide above to go on" : undefined}
              hint={running ? "Write on; it is sent when this run ends" : `Message ${assistant.name}`}
              queued={act.queue}
              onUnqueue={act.unqueue}
              onSend={act.send}
              onStop={act.stop}
              recall={turns.findLast((turn) => turn.asked)?.asked?.text}
            />
          </div>
        </div>
        <Announcer text={spoken} alarm={line.tone === "failed" ? line.text : ""} />
      </main>
      {openedCall && (
        <Panel stream={stream} call={openedCall} agent={stream.subagents.get(openedCall.id)} onClose={closePanel} />
      )}
    </div>
  );
}

function useTitle(waiting: number): void {
  useEffect(() => {
    document.title = waiting > 0 ? `(${waiting}) Weir` : "Weir";
  }, [waiting]);
}
