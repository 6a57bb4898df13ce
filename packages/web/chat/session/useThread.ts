/** Feeds the reducer of a thread with all that arrives about it, and reads from it what the page shows. */
import { useEffect, useMemo, useReducer, useState, useRef } from "react";
import { useSearchParams } from "wouter";
import { queryClient, useHistory, useMessagesAt, useRuns } from "../../api/queries.ts";
import { sharedState, useThreadState } from "../../api/state.ts";
import type { Interrupt, RawMessage, ThreadState } from "../../api/types.ts";
import { liveMessages, type Stream } from "./stream.ts";
import { errorText } from "./connection.ts";
import { type Checkpoint, findCheckpoints, type Fork, findForks, type Step } from "../../api/checkpoints.ts";
import {
  begin,
  listInterrupts,
  isRunning,
  listMessages,
  isUnfinished,
  listSaved,
  type News,
  type Read,
  reduce,
  type Thread,
  type Partial,
} from "./reducer.ts";
import { keepInTab } from "../../ui/storage.ts";

export interface ThreadView {
  thread: Thread;
  tell: (news: News) => void;
  running: boolean;
  /** A run is open, may be, or has ended and the state after it is not read. */
  open: boolean;
  /** Undefined while they are not known. */
  messages: RawMessage[] | undefined;
  interrupts: Interrupt[];
  failed: string | undefined;
  /** Nodes are due, no run is open, and nobody is asked. */
  unfinished: boolean;
  forks: ReadonlyMap<string, Fork>;
  checkpoints: ReadonlyMap<string, Checkpoint>;
  /** The checkpoint in view, where it is not on the newest branch. */
  at: string | undefined;
  branch: { index: number; of: number } | undefined;
  goTo: (tip: string | undefined) => void;
  /** The newest state was read, or is unavailable. */
  isRead: boolean;
  /** The messages in view that a checkpoint has. */
  upTo: (checkpoint: string) => RawMessage[];
}

/**
 * @param first the thread's runs when it was opened
 * @param updatedAt when the thread last changed, as the list of threads has it
 * @param onMissed a run began that the stream does not see
 */
export function useThread(
  stream: Stream,
  opened: string | undefined,
  first: { open: boolean; newest: string | undefined },
  updatedAt: string | undefined,
  onMissed: () => void,
): ThreadView {
  const [thread, tell] = useReducer(reduce, undefined, () => {
    const begun = reduce(begin(keptPartials(opened)), { type: "runs", open: first.open });
    const read = opened === undefined ? undefined : sharedState(opened);
    // The first render has the messages where they are known by then.
    return read === undefined ? begun : reduce(begun, { type: "read", phase: begun.phase, state: parseRead(read) });
  });
  const threadId = stream.threadId ?? undefined;
  const messages = liveMessages(stream);
  if (stream.isLoading !== thread.loading || messages !== thread.live)
    tell({ type: "live", messages, loading: stream.isLoading });

  const { phase, run, steps } = thread;
  const running = isRunning(thread);
  const own = run?.mine === true && !run.ended;
  const [openedAt] = useState(updatedAt);
  const change = updatedAt === openedAt ? undefined : updatedAt;
  const state = useThreadState(threadId, phase, change, !own);
  useEffect(() => {
    if (state.data !== undefined) tell({ type: "read", phase, state: parseRead(state.data) });
  }, [state.data, phase]);

  const unseen = useUnseen(own, stream.isLoading);
  const runs = useRuns(own && !unseen ? undefined : threadId, phase, change);
  const missed = useMissed(phase, first.newest, runs.data?.newest, unseen, onMissed);
  useEffect(() => {
    if (runs.data && !missed) tell({ type: "runs", open: runs.data.open });
  }, [runs.data, missed]);

  // The thread answers one call at a time, and its messages come first.
  const history = useHistory(threadId, phase, change, !own && thread.read !== undefined);
  useEffect(() => {
    if (history.data) tell({ type: "steps", steps: history.data });
  }, [history.data]);

  useEffect(() => void queryClient.invalidateQueries({ queryKey: ["threads"] }), [phase, thread.read]);
  useEffect(() => {
    if (threadId) keepPartials(threadId, thread.partials);
  }, [threadId, thread.partials]);

  const [params, setParams] = useSearchParams();
  const asked = params.get("at") ?? undefined;
  const named = asked === steps[0]?.id ? undefined : asked;
  useEffect(() => tell({ type: "at", checkpoint: named }), [named]);
  const tip = useMessagesAt(threadId, named);
  useEffect(() => {
    if (named && tip.data) tell({ type: "tip", checkpoint: named, messages: tip.data });
  }, [named, tip.data]);

  const { at } = thread;
  const shown = useMemo(() => listMessages(thread), [thread]);
  const saved = useMemo(() => listSaved(thread, shown ?? []), [thread, shown]);
  const forks = useMemo(() => findForks(steps, at, saved), [steps, at, saved]);
  const checkpoints = useMemo(() => findCheckpoints(steps, at, saved), [steps, at, saved]);
  const parting = [...forks.values()].at(-1);
  return {
    thread,
    tell,
    running,
    open: run !== undefined || missed,
    messages: shown,
    interrupts: listInterrupts(thread),
    failed: thread.run ? undefined : thread.read?.failed,
    // Where a run of another program has begun, the state may be of its beginning.
    unfinished: !run && !missed && runs.data?.open === false && state.data !== undefined && isUnfinished(thread),
    forks,
    checkpoints,
    at,
    // A run that was in progress when the thread was opened has the state as its base.
    isRead: thread.read !== undefined || run?.base !== undefined || state.isError,
    branch: at !== undefined && parting ? { index: parting.index, of: parting.tips.length } : undefined,
    goTo: (checkpoint) => setParams(checkpoint === undefined || checkpoint === steps[0]?.id ? {} : { at: checkpoint }),
    upTo: (checkpoint) => saved.slice(0, 1 + saved.findIndex(({ id }) => id === findLast(steps, checkpoint))),
  };
}

const findLast = (steps: Step[], checkpoint: string) => steps.find((step) => step.id === checkpoint)?.last ?? "";

function parseRead(state: ThreadState | null): Read {
  const tasks = state?.tasks ?? [];
  const error = tasks.map((task) => task.error).find((one) => one !== null && one !== undefined);
  // Several tasks write one interrupt, such as those that reach a budget.
  const raised = tasks.flatMap(({ interrupts = [] }) =>
    interrupts.flatMap(({ id, value }) => (id ? [{ id, value }] : [])),
  );
  return {
    messages: state?.values?.messages ?? [],
    finished: (state?.next ?? []).length === 0,
    interrupts: [...new Map(raised.map(({ id, value }) => [id, { id, value }])).values()],
    ...(error === undefined ? {} : { failed: errorText(error) }),
  };
}

// Notices a run that the stream does not see: another tab, the API or a cron started it while the stream was idle. Or this tab
// answered a question that arose while the stream was idle: its client sends the answer and subscribes to nothing.

/** Milliseconds in which the stream may still report the run by itself. */
const GRACE_MS = 1_000;

/** Whether a run that this view began is not in the stream in time. */
function useUnseen(own: boolean, loading: boolean): boolean {
  const unseen = own && !loading;
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!unseen) return;
    const timer = setTimeout(() => setLate(true), GRACE_MS);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [unseen]);
  return unseen && late;
}

/**
 * Whether the newest run of the thread is one that the stream does not see. A run that it sees begins a phase.
 * Calls `onMissed` when the stream does not report it in time.
 *
 * @param opened the newest run when the thread was opened
 * @param newest the newest run as read last; undefined while it is unknown
 * @param unseen the phase is about a run of this view that the stream does not see
 */
function useMissed(
  phase: number,
  opened: string | undefined,
  newest: string | undefined,
  unseen: boolean,
  onMissed: () => void,
): boolean {
  const [known, setKnown] = useState({ phase, newest: opened });
  // The first read of a phase names the run that the phase is about.
  if (newest !== undefined && known.phase !== phase && !unseen) setKnown({ phase, newest });
  const missed = newest !== undefined && (known.phase === phase || unseen) && known.newest !== newest;
  const now = useRef(onMissed);
  useEffect(() => {
    now.current = onMissed;
  });
  useEffect(() => {
    if (!missed) return;
    const timer = setTimeout(() => now.current(), GRACE_MS);
    return () => clearTimeout(timer);
  }, [missed, phase]);
  return missed;
}

/** Characters that are kept of a thread. */
const MOST = 200_000;

const storageKey = (threadId: string) => `weir.stopped.${threadId}`;

/** Texts of stopped runs, for this tab: no checkpoint has them. */
function keptPartials(threadId: string | undefined): Partial[] {
  const text = threadId && sessionStorage.getItem(storageKey(threadId));
  return text ? (JSON.parse(text) as Partial[]) : [];
}

function keepPartials(threadId: string, partials: Partial[]): void {
  if (partials.length === 0) return;
  const text = JSON.stringify(partials);
  if (text.length <= MOST) keepInTab(storageKey(threadId), text);
}
